/* SPDX-License-Identifier: Apache-2.0 */
#ifndef LOCUS_HASHMAP_RESULTS_H
#define LOCUS_HASHMAP_RESULTS_H

#include "benchmark.h"

extern const struct metric hashmap_metrics[];
/* See struct ops. */
void hashmap_collect(void *state, const struct trial *, struct result *);

#endif
