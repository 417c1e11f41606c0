/* SPDX-License-Identifier: Apache-2.0 */
/* Whether neighbours (beside.h) may have slowed a series down. */
#ifndef LOCUS_SLOWED_H
#define LOCUS_SLOWED_H

#include "harness/sample/series.h"

struct slowed {
	double busy;	      /* CPUs that others kept busy, on average; NAN: unknown */
	double line;	      /* s per line, the median of the batches; NAN: no batch has one */
	double best;	      /* s per line without neighbours; NAN: the run has not seen it */
	unsigned slow, looks; /* batches after which memory was slower; after which it was read */
};
struct slowed slowed_seen(const struct series *);

/* Keeps how fast memory is while the neighbours rest, if they did. After the last batch. */
void slowed_learn(const struct series *);

/*
 * Neighbours rest while they keep less than QUIET CPUs busy; from BUSY on they may move a result.
 * Memory is slow if a line takes more than SLOW times as long as without them.
 */
#define SLOWED_QUIET 0.1
#define SLOWED_BUSY  0.5
#define SLOWED_SLOW  1.3

#endif
