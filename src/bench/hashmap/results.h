/* SPDX-License-Identifier: Apache-2.0 */
#ifndef LOCUS_HASHMAP_RESULTS_H
#define LOCUS_HASHMAP_RESULTS_H

#include "benchmark.h"

enum { HASHMAP_METRICS = 15 };
extern const struct metric hashmap_metrics[HASHMAP_METRICS];
/* See struct ops. */
void hashmap_collect(void *state, const struct trial *, struct result *);

#endif
