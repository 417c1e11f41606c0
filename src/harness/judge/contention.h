/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether other work on the CPUs beside a trial (sample/neighbours.h) slowed it down, by contention
 * for the core, the L3 or the memory that it uses.
 */
#ifndef LOCUS_CONTENTION_H
#define LOCUS_CONTENTION_H

#include <jansson.h>

#include "harness/judge/verdict.h"
#include "harness/sample/series.h"

/*
 * Neighbours rest while they keep less than QUIET CPUs busy; from BUSY on they may move a result.
 * Memory is slow if a line takes more than SLOW times as long as without them. L3 is slow if a line
 * that was in it takes more than GONE times as long as one of memory: most such lines were evicted.
 * A trial is noisy if its level was slow after more than MOST_SLOW of its batches: fewer do not
 * move their median.
 */
#define CONTENTION_QUIET     0.1
#define CONTENTION_BUSY	     0.5
#define CONTENTION_SLOW	     1.3
#define CONTENTION_GONE	     0.75
#define CONTENTION_MOST_SLOW 0.5

struct contention {
	double busy;   /* CPUs that others kept busy, on average; NAN: unknown */
	double line;   /* s per line, the median of the batches; NAN: no batch has one */
	double best;   /* s per line of memory without neighbours; NAN: not seen in this run */
	double memory; /* median s per line of L3 after a flush; NAN: the level is not L3 */
	/* number of batches after which the level was slow; after which it was probed */
	unsigned slow, looks;
};
struct contention contention_seen(const struct series *);

/* Keeps the speed of memory while the neighbours rest, if they did. After the last batch. */
void contention_learn(const struct series *);

json_t *contention_json(const struct series *); /* `beside` of `noise`; NULL: nobody was watched */
/*
 * Noisy: its level was slow after too many batches; or neighbours were busy, and no probe can show
 * their effect. For L3 it is a note.
 */
void contention_judge(const struct series *, struct verdict *);

#endif
