/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The cost of first touch: a pass writes a word of each page, which the kernel has to find, zero
 * and map. Before each sample the pages are given back.
 */
#ifndef LOCUS_NUMA_TOUCH_H
#define LOCUS_NUMA_TOUCH_H

#include "bench/numa/state.h"

/* Whether pages can be given back: false after arena_cannot(). */
bool touch_possible(struct state *, const struct trial *);
void touch_reset(void *state);
void touch_work(void *state, struct worker *self);
const char *touch_verify(void *state, const struct trial *);
/* Pages of the size asked for that a pass faults in. */
double touch_pages(const struct state *);

#endif
