/* SPDX-License-Identifier: Apache-2.0 */
/* The measured kernels: each load waits for the one before it on its chain. */
#ifndef LOCUS_CHASE_H
#define LOCUS_CHASE_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Chains that a kernel follows in parallel, at most. A position is a pointer to an element or, with
 * ints, an index.
 */
#define MOST_CHAINS 32
union position {
	void *element;
	uint64_t index;
};

/*
 * Advances all chains from their positions, by `rounds` rounds of chase_loads() loads in all.
 * `base`: the array, for chains of ints.
 */
typedef void chase(union position *at, const void *base, uint64_t rounds);

/*
 * NULL: there is no such kernel. Kernels follow 1, 2, 3, 4, 6, 8, 12, 16, 24 or 32 chains of
 * pointers, or 1 of ints.
 */
chase *chase_choose(unsigned chains, bool ints);
/* Loads of one round, over all chains. */
unsigned chase_loads(unsigned chains);

#endif
