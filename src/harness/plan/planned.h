/* SPDX-License-Identifier: Apache-2.0 */
/* The trials that were planned, and how one more is added. */
#ifndef LOCUS_PLANNED_H
#define LOCUS_PLANNED_H

#include <jansson.h>

#include "harness/plan/request.h"

struct planned {
	struct trial trial; /* values, places and texts are owned by the plan */
	char *identity;
	/* hash of its identity; kin: equal for trials that are to be sampled in turn */
	uint64_t hash, kin;
	char id[17]; /* the hash as hex digits */
	/* "numa/static kernel=sum pages=base": what varies, for tables and progress */
	char name[128];
	const char *bind; /* as in struct seats */
	int *cpu;	  /* the CPUs that its threads sit on, or float over, each once */
	unsigned cpus;
	struct needs needs;
	double sample;	  /* s: target length of a sample */
	unsigned repeats; /* samples of it; 0: until the result is known */
	char *refusal;	  /* why it is impossible here; NULL: it is not */
	char *kinds;	  /* its cores, if some are faster than others (kinds_text()); NULL: none are */
	/* sentences for readers of its result: how its input was read, that cores are slow */
	json_t *notes;
	unsigned group;
	unsigned region; /* the index of its LIKWID region, if it has one */
	double scatter;	 /* of its time, once it was measured (estimates_scatter); 0: not yet */
	bool done;	 /* found complete in the file that is resumed */
	bool again;	 /* done, but to be measured again with its group */
};

struct plan {
	const struct benchmark *benchmark;
	struct planned *trial;
	unsigned trials, groups;
	unsigned threads;	 /* the most that a trial needs */
	unsigned refused;	 /* combinations that were left out as pointless */
	const char *why_refused; /* the reason of the first */
	const char *left_out;	 /* why variants were left out on this machine; NULL: none */
	json_t *ids;		 /* of the trials: {id: true} */
	/* of the files that they read, by path: hashes; how each is read, if that is a guess */
	json_t *contents, *guesses;
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

/* Frees what a trial owns. */
void planned_free(struct planned *);

#endif
