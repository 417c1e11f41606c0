/* SPDX-License-Identifier: Apache-2.0 */
/* The metrics of search, and their values in a sample. */
#ifndef LOCUS_SEARCH_RESULTS_H
#define LOCUS_SEARCH_RESULTS_H

#include "benchmark.h"

/* Ends with a row without a name. */
extern const struct metric search_metrics[];
/* See struct ops. */
void search_collect(void *state, const struct trial *, struct result *);

#endif
