/* SPDX-License-Identifier: Apache-2.0 */
/* The trials that were planned, and how one more is added. */
#ifndef LOCUS_PLANNED_H
#define LOCUS_PLANNED_H

#include <jansson.h>

#include "harness/plan/request.h"

struct planned {
	struct trial trial; /* values, places and texts are owned by the plan */
	char *identity;
	/* of its identity; the same for all that are sampled in turn with it */
	uint64_t hash, kin;
	char id[17]; /* the hash as hex digits */
	/* "numa/static kernel=sum pages=base": what varies, for tables and progress */
	char name[128];
	const char *bind; /* as in struct seats */
	int *cpu;	  /* that its threads sit on, or float over, each once */
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
	const char *left_out;	 /* why variants were left out on this machine; NULL: none */
	json_t *ids;		 /* the trials' */
	json_t *contents;	 /* hashes of the files that they read, by path */
};

/* One combination of the lists. */
struct point {
	const struct variant *variant;
	/* by parameter; copied. Of a P_LAYOUT, threads on each node: "8+8" */
	const union value *value;
	unsigned threads;
	const char *layout; /* NULL: it has none */
};

/*
 * Adds the trial, unless it makes no sense or is planned already, as two layouts may be the same.
 * One that is impossible here is added with its refusal. 0, or an exit status after a message.
 */
int planned_add(struct plan *, const struct request *, const struct point *);

/* Counts a combination that is left out, and keeps the first reason, a constant. */
void planned_leave_out(struct plan *, const char *why);

/* What a trial owns. */
void planned_free(struct planned *);

#endif
