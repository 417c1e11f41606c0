/* SPDX-License-Identifier: Apache-2.0 */
/* How samples go into the record: lines of batches, and what these share with the trial line. */
#ifndef LOCUS_SAMPLES_LINE_H
#define LOCUS_SAMPLES_LINE_H

#include <jansson.h>

#include "harness/sample/series.h"

/*
 * The line of n batches, from `first` on: every sample; only their quantiles if workers meet in
 * pairs, or after the 10,000th sample of the trial.
 */
json_t *samples_line(const struct series *, unsigned first, unsigned n);
/* Whether a line that begins with batch `first` may also hold this batch, the next in order. */
bool samples_join(const struct series *, unsigned first, unsigned batch);

/* Quantiles 0, 0.01, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99 and 1; sorts the values. */
json_t *samples_quantiles(double *values, size_t n);
/*
 * Units of a worker in the last sample; null if a deadline ends it, so that each worker does as
 * many as it can.
 */
json_t *samples_units(const struct series *);

#endif
