/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A metric that is a distribution: histograms of workers, merged over workers and ranks in a sample
 * and then over all samples.
 */
#ifndef LOCUS_DISTRIBUTION_H
#define LOCUS_DISTRIBUTION_H

#include <jansson.h>

#include "benchmark.h"
#include "kit/histogram.h"

struct distribution;

struct distribution *distribution_open(void); /* NULL: no memory */
void distribution_close(struct distribution *);

/* Adds a worker's histogram of this sample; `unit`: what its value 1 is in the metric's unit. */
void distribution_add(struct distribution *, const struct histogram *, double unit);

/*
 * Ends the sample: the median of the values of all ranks; NAN if there are none. All ranks make
 * this call.
 */
double distribution_end(struct distribution *, const struct ranks *);

/*
 * {"n", "quantiles": {"0.5": .., "0.9", "0.99", "0.999", "1"}, "buckets": [[bucket, n, n, ..],
 * ..]}, of all samples; buckets are numbered as in histogram_value(). NULL: there are no values.
 */
json_t *distribution_json(const struct distribution *);

#endif
