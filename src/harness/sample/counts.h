/* SPDX-License-Identifier: Apache-2.0 */
/* A trial's counts for each unit of work, with intervals, and what counting costs. */
#ifndef LOCUS_COUNTS_H
#define LOCUS_COUNTS_H

#include <jansson.h>

#include "harness/sample/series.h"

/*
 * `counters` of the trial line: its events, and quotients of them.
 * `why`: there are no samples because of that; NULL: there are.
 */
json_t *counts_json(const struct series *, const char *why);
/*
 * `kernel` of the trial line: totals of what the kernel counts always, where they are not zero; and
 * `kernel_unknown`, names of what it did not tell.
 */
json_t *counts_kernel_json(const struct series *);
json_t *counts_kernel_unknown_json(const struct series *);
/* `counters` of the samples line: of a batch. */
json_t *counts_batch_json(const struct series *, unsigned batch);
/* `counting` of the trial line: its time in batches with and without. */
json_t *counts_cost_json(const struct series *);

/*
 * Of event i: why most batches that were to count it have no count, and how many have one. NULL:
 * most have one, or none has.
 */
const char *counts_gap(const struct series *, unsigned event, unsigned *counted, unsigned *batches);

#endif
