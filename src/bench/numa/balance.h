/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pages that the kernel's NUMA balancing moves to the node that uses them: it takes the mapping of
 * pages away now and then, sees by the faults who uses them, and migrates them in the background.
 */
#ifndef LOCUS_NUMA_BALANCE_H
#define LOCUS_NUMA_BALANCE_H

#include "bench/numa/state.h"

/* What is missing: balancing is off, or not there; NULL: nothing. */
const char *balance_available(void);
/*
 * Uses the arrays until all pages are on their users' nodes, or until the kernel has moved none for
 * some seconds; sets `stuck` and `moving`. -1 with errno, or after arena_cannot().
 */
int balance_wait(struct state *, const struct trial *);

#endif
