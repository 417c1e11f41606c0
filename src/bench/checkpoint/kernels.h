/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The measured kernels of checkpoint, which count ticks and firings. Separate functions, so that a
 * test can read their machine code.
 */
#ifndef LOCUS_CHECKPOINT_KERNELS_H
#define LOCUS_CHECKPOINT_KERNELS_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

/* Bytes of a string; strings of a thread, which together stay in its L1. */
enum { STRING = 16, STRINGS = 1024 };

/* Relaxed load and store: a plain increment without undefined behaviour. */
typedef _Atomic uint64_t counter;

static inline uint64_t counter_get(counter *c)
{
	return atomic_load_explicit(c, memory_order_relaxed);
}

/* What a thread ticks, and where it is among its strings. */
struct ticker {
	counter *tick, *fired;
	uint64_t mask;
	unsigned char *strings; /* STRINGS */
	uint64_t reversed;	/* strings, one after the other, all samples together */
	uint64_t left;		/* countdown: ticks until it fires, from 1 to mask + 1 */
	size_t stride;		/* per CPU: bytes from one CPU's counters to the next one's */
};

/* Ticks n times, and fires after each tick that makes the counter & mask 0. */
typedef void ticks(struct ticker *, uint64_t n);
ticks checkpoint_loop;
/* Also reverses a string before each tick, as the published program does. */
ticks checkpoint_reverse;
/* The same with a countdown in a register; the counter has the ticks when they are done. */
ticks countdown_loop, countdown_reverse;
/* The same with the counters of the CPU that the thread runs on; tick and fired are CPU 0's. */
ticks percpu_loop, percpu_reverse;

/* The characters of a string at the start. */
static inline unsigned char string_letter(unsigned i)
{
	return (unsigned char)('a' + i);
}

#endif
