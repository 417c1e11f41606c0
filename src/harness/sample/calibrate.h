/* SPDX-License-Identifier: Apache-2.0 */
/* How many units make a sample as long as planned, and how many samples a batch. */
#ifndef LOCUS_CALIBRATE_H
#define LOCUS_CALIBRATE_H

#include "harness/sample/sample.h"
#include "harness/sample/series.h"

/*
 * Finds `units`, `duration` and `per_batch` of an allocation that is ready, for batches of `batch`
 * s. Begins no sample when `most` s have gone by.
 */
void calibrate(struct series *, struct team *, double batch, double most);

/*
 * The usual one of these skews (s), which it sorts: their median. By the least one, most samples
 * would begin later than they may; by the most, one late wake-up would make all of them long.
 */
double calibrate_skew(double *skews, size_t n);

/*
 * Whether a sample of `units` units ends their search; if not, increases `units`, or asks for
 * another such sample, which *long_before says. `skew` is that of the samples until now.
 */
bool calibrate_ends(struct series *, const struct sample *, bool *long_before);

#endif
