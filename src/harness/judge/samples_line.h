/* SPDX-License-Identifier: Apache-2.0 */
/* How samples go into the record: lines of batches, and what the trial's line has in common. */
#ifndef LOCUS_SAMPLES_LINE_H
#define LOCUS_SAMPLES_LINE_H

#include <jansson.h>

#include "harness/sample/series.h"

/*
 * n batches, from `first` on: every sample; quantiles of all of them where pairs meet, and from the
 * 10,000th sample of a trial on.
 */
json_t *samples_line(const struct series *, unsigned first, unsigned n);
/* Whether a line from `first` on may also hold this batch, which follows on what it has. */
bool samples_join(const struct series *, unsigned first, unsigned batch);

/* Quantiles 0, 0.01, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99 and 1; sorts the values. */
json_t *samples_quantiles(double *values, size_t n);
/*
 * Units of a worker in the last sample; null where a deadline ends it, and each does as many as it
 * can.
 */
json_t *samples_units(const struct series *);

#endif
