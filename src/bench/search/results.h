/* SPDX-License-Identifier: Apache-2.0 */
/* The metrics of search, and their values in a sample. */
#ifndef LOCUS_SEARCH_RESULTS_H
#define LOCUS_SEARCH_RESULTS_H

#include "benchmark.h"

enum { SEARCH_METRICS = 17 };
extern const struct metric search_metrics[SEARCH_METRICS];
/* See struct ops. */
void search_collect(void *state, const struct trial *, struct result *);

#endif
