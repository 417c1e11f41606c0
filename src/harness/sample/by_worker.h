/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A metric that collect() reports by worker: its value in a sample, over the workers of all ranks,
 * and each worker's mean over the samples.
 */
#ifndef LOCUS_BY_WORKER_H
#define LOCUS_BY_WORKER_H

#include <jansson.h>

#include "benchmark.h"

struct by_worker;

struct by_worker *by_worker_open(unsigned workers); /* NULL: no memory */
void by_worker_close(struct by_worker *);

/* Notes a worker's value in this sample; workers without one are left out. */
void by_worker_note(struct by_worker *, unsigned worker, double value);

/*
 * Ends the sample: M_FAIRNESS or M_IMBALANCE of its values, the same on all ranks; NAN if there are
 * none. All ranks make this call.
 */
double by_worker_end(struct by_worker *, enum metric_kind, const struct ranks *);

/*
 * A list of means over the samples, of this rank's workers; null for a worker without a value.
 * NULL: no worker had one.
 */
json_t *by_worker_json(const struct by_worker *);

#endif
