/* SPDX-License-Identifier: Apache-2.0 */
/* A batch of samples, with the evidence beside it. */
#ifndef LOCUS_BATCH_H
#define LOCUS_BATCH_H

#include "harness/sample/series.h"

/* s per cycle of the workers' cores at one moment; 0: unknown. */
struct batch_cores {
	double least, median, most;
};

/*
 * The cycle of a batch, from those before and after it: 0 where they differ by more than 5 %, since
 * then the batch did not run at one frequency.
 */
double batch_cycle(struct batch_cores before, struct batch_cores after);

/*
 * Takes so many samples of an allocation that is ready; `warm`: after one that is not kept, which
 * warms the caches. Returns false on failure.
 */
bool batch_take(struct series *, struct team *, unsigned samples, bool warm);

#endif
