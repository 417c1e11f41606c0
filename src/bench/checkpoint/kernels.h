/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is measured of checkpoint: each call ticks a counter, and some count a firing. Functions of
 * their own, so that a test can read their machine code.
 */
#ifndef LOCUS_CHECKPOINT_KERNELS_H
#define LOCUS_CHECKPOINT_KERNELS_H

#include <stdatomic.h>
#include <stdint.h>

/* bytes of a string; strings that each thread reverses, over and over: they stay in L1 */
enum { STRING = 16, STRINGS = 1024 };

/* relaxed load and store: a plain increment, but with defined behaviour */
typedef _Atomic uint64_t counter;

static inline uint64_t counter_get(counter *c)
{
	return atomic_load_explicit(c, memory_order_relaxed);
}

/* Ticks `count` times; fires where the tick, & mask, is 0. */
void checkpoint_loop(counter *tick, counter *fired, uint64_t mask, uint64_t count);
/* ... and reverses a string before each tick: what calls are about, in the published program. */
void checkpoint_reverse(counter *tick, counter *fired, uint64_t mask, uint64_t count,
			unsigned char *strings);

#endif
