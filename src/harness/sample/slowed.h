/* SPDX-License-Identifier: Apache-2.0 */
/* Whether neighbours (beside.h) may have slowed a series down. */
#ifndef LOCUS_SLOWED_H
#define LOCUS_SLOWED_H

#include "harness/sample/series.h"

struct slowed {
	double busy;   /* CPUs that others kept busy, on average; NAN: unknown */
	double line;   /* s per line, the median of the batches; NAN: no batch has one */
	double best;   /* the same of memory without neighbours; NAN: the run has not seen it */
	double memory; /* the same of L3's lines when flushed; NAN: it isn't L3 */
	unsigned slow, looks; /* batches after which the level was slow; after which it was read */
};
struct slowed slowed_seen(const struct series *);

/* Keeps how fast memory is while the neighbours rest, if they did. After the last batch. */
void slowed_learn(const struct series *);

/*
 * Neighbours rest while they keep less than QUIET CPUs busy; from BUSY on they may move a result.
 * Memory is slow if a line takes more than SLOW times as long as without them. L3 is slow if a line
 * that was in it takes more than GONE times as long as one of memory: most such lines were evicted.
 */
#define SLOWED_QUIET 0.1
#define SLOWED_BUSY  0.5
#define SLOWED_SLOW  1.3
#define SLOWED_GONE  0.75

#endif
