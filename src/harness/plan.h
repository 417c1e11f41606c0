/* SPDX-License-Identifier: Apache-2.0 */
/* The trials of a run: the product of all lists, each with its identity and its place, in the groups in which they are sampled in turn. */
#ifndef LOCUS_PLAN_H
#define LOCUS_PLAN_H

#include <stdio.h>

#include "benchmark.h"
#include "harness/options.h"
#include "machine/affinity.h"
#include "machine/limits.h"

struct planned {
	struct trial trial;                /* values, places and texts are owned by the plan */
	char *identity;
	uint64_t hash, kin;                /* of its identity; of what it shares with those that it is sampled in turn with */
	char id[17];                       /* the hash as hex digits */
	char name[128];                    /* "numa/static kernel=sum pages=base": what varies, for tables and progress */
	const char *bind;                  /* "layout", "inherited", "close", "spread", or the list */
	int *cpu;                          /* that its threads sit on, each once */
	unsigned cpus;
	bool oversubscribed;
	size_t footprint;                  /* bytes */
	char *refusal;                     /* why it is impossible here; NULL: it is not */
	unsigned group;
	bool done;                         /* found complete in the file that is resumed */
};

struct plan {
	const struct benchmark *benchmark;
	struct planned *trial;
	unsigned trials, groups;
	unsigned threads;                  /* the most that a trial needs */
	unsigned refused;                  /* combinations that the benchmark has no sense for */
	const char *why_refused;           /* the first such reason */
};

/* What trials are planned for. */
struct setting {
	const struct machine *machine;
	const struct affinity *affinity;   /* NULL on a described machine */
	struct memory_limit memory;
};

/* 0, or the status to exit with after a message on stderr. What is impossible here is planned, with its refusal. */
int plan_make(struct plan *, const struct benchmark *, const struct options *, const struct setting *);
void plan_free(struct plan *);

/* The default value of --bind for n threads here. */
const char *plan_bind(const struct options *, const struct affinity *, unsigned threads);

/* For --dry-run: trials with their places, memory and time. */
void plan_print(const struct plan *, const struct setting *, double seconds, FILE *);

#endif
