/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A trial's counts per unit of work, with intervals; quotients of two counts, such as instructions
 * per cycle; and what counting costs.
 */
#ifndef LOCUS_COUNTS_H
#define LOCUS_COUNTS_H

#include <jansson.h>

#include "harness/sample/series.h"

/*
 * `counters` of the trial line: its events, and quotients of them. `why`: the reason why there are
 * no samples; NULL: there are.
 */
json_t *counts_json(const struct series *, const char *why);
/* Adds each quotient to a trial's list of counters if both its events were counted. */
void counts_add_quotients(json_t *list);
/*
 * `kernel` of the trial line: non-zero totals of the events that the kernel always counts; and
 * `kernel_unknown`: the names of events whose counts could not be read.
 */
json_t *counts_kernel_json(const struct series *);
json_t *counts_kernel_unknown_json(const struct series *);
/* `counters` of a batch's samples line. */
json_t *counts_batch_json(const struct tally *, unsigned batch);
/*
 * `counting` of the trial line: its time in batches that count events, and in batches that don't.
 */
json_t *counts_cost_json(const struct series *);

/*
 * Why most of the batches that were due to count the event have no count; NULL: most have one, or
 * none has. `batches`: how many were due; `counted`: how many of them have a count.
 */
const char *counts_gap(const struct series *, unsigned event, unsigned *counted, unsigned *batches);

#endif
