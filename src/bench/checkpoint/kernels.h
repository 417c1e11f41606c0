/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The measured kernels of checkpoint, which count ticks and firings. Separate functions, so that a
 * test can read their machine code.
 */
#ifndef LOCUS_CHECKPOINT_KERNELS_H
#define LOCUS_CHECKPOINT_KERNELS_H

#include <stdatomic.h>
#include <stdint.h>

/* Bytes of a string; strings of a thread, which together stay in its L1. */
enum { STRING = 16, STRINGS = 1024 };

/* Relaxed load and store: a plain increment without undefined behaviour. */
typedef _Atomic uint64_t counter;

static inline uint64_t counter_get(counter *c)
{
	return atomic_load_explicit(c, memory_order_relaxed);
}

/* Ticks `count` times, and fires after each tick that makes tick & mask 0. */
void checkpoint_loop(counter *tick, counter *fired, uint64_t mask, uint64_t count);
/* Also reverses a string before each tick, as the published program does. */
void checkpoint_reverse(counter *tick, counter *fired, uint64_t mask, uint64_t count,
			unsigned char *strings);

#endif
