/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The trials of a run: the product of all lists, each with its identity and its place, in the
 * groups in which they are sampled in turn.
 */
#ifndef LOCUS_PLAN_H
#define LOCUS_PLAN_H

#include <stdio.h>

#include "benchmark.h"
#include "harness/options.h"
#include "machine/affinity.h"
#include "machine/limits.h"

struct planned {
	struct trial trial; /* values, places and texts are owned by the plan */
	char *identity;
	/* of its identity; of what it shares with those that it is sampled in turn with */
	uint64_t hash, kin;
	char id[17]; /* the hash as hex digits */
	/* "numa/static kernel=sum pages=base": what varies, for tables and progress */
	char name[128];
	/* "inherited", "close", "spread" or the list; with a layout, "layout" stands for close. */
	const char *bind;
	int *cpu; /* that its threads sit on, each once */
	unsigned cpus;
	struct needs needs;
	double sample;	  /* s: the sample to aim at */
	unsigned repeats; /* samples of it; 0: until the result is known */
	char *refusal;	  /* why it is impossible here; NULL: it is not */
	unsigned group;
	unsigned region; /* LIKWID's, where it has one */
	bool done;	 /* found complete in the file that is resumed */
	bool again;	 /* done, but wanted once more beside its group */
};

struct plan {
	const struct benchmark *benchmark;
	struct planned *trial;
	unsigned trials, groups;
	unsigned threads;	 /* the most that a trial needs */
	unsigned refused;	 /* combinations that the benchmark has no sense for */
	const char *why_refused; /* the first such reason */
};

/* What trials are planned for. */
struct setting {
	const struct machine *machine;
	const struct affinity *affinity; /* NULL on a described machine */
	struct memory_limit memory;
	const struct ranks *ranks; /* NULL: this process has it all */
	unsigned here;		   /* ranks on this node; 0 and 1: it is one's own */
	/* bytes a trial may map, of all ranks; 0: what is there */
	double most;
	/* bytes that trials sampled in turn may hold together; 0: as plan_room() finds */
	double room;
	/*
	 * why ranks may not go on, unless trials may be oversubscribed: they share CPUs; NULL: they
	 * don't
	 */
	char *crowd;
};

/*
 * 0, or the status to exit with after a message on stderr. What is impossible here is planned, with
 * its refusal.
 */
int plan_make(struct plan *, const struct benchmark *, const struct options *,
	      const struct setting *);
void plan_free(struct plan *);

/*
 * Where trials were refused, or the room was found to be another, since the plan was made: the
 * groups anew. The trials keep their order.
 */
void plan_group(struct plan *, const struct setting *);
double plan_room(const struct setting *);

/* The default value of --bind for n threads here. */
const char *plan_bind(const struct options *, const struct affinity *, unsigned threads);

/*
 * s that a tournament of pairs takes: each of its turns a sample, and what calls the workers
 * together - for which there is a guess only, 20 us and 2 us a worker. 0 where there is none.
 */
double plan_tournament(const struct planned *);

/* For --dry-run: trials with their places, memory and time. */
void plan_print(const struct plan *, const struct setting *, double seconds, FILE *);

#endif
