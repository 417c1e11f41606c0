/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The clock: CLOCK_MONOTONIC_RAW, which no time daemon adjusts; and the core's own frequency, by a
 * chain of dependent operations.
 */
#ifndef LOCUS_CLOCK_H
#define LOCUS_CLOCK_H

#include <stdint.h>
#include <time.h>

static inline double clock_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC_RAW, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/*
 * A counter of constant rate, independent of the core's frequency, for intervals too short for
 * clock_now(). Ticks have no fixed unit: clock_tick() calibrates them. The reading is not ordered
 * with surrounding instructions.
 */
static inline uint64_t clock_ticks(void)
{
#if defined(__x86_64__)
	return __builtin_ia32_rdtsc();
#elif defined(__aarch64__)
	uint64_t ticks;

	__asm__ volatile("mrs %0, cntvct_el0" : "=r"(ticks));
	return ticks;
#else
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC_RAW, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
#endif
}

/*
 * The ticks, read after all earlier loads are done: neither x86 (Intel's manual, RDTSC: lfence) nor
 * Arm (isb) orders the reading.
 */
static inline uint64_t clock_ticks_now(void)
{
#if defined(__x86_64__)
	__builtin_ia32_lfence();
#elif defined(__aarch64__)
	__asm__ volatile("isb" ::: "memory");
#endif
	return clock_ticks();
}

/* Seconds per tick of clock_ticks(), compared with clock_now() for 2 ms. */
double clock_tick(void);

/*
 * Both in s. Overhead: median cost of one reading. Resolution: the smallest difference seen between
 * two readings, other than 0.
 */
struct clock_quality {
	double overhead, resolution;
};
struct clock_quality clock_measure(void);

/*
 * Seconds per cycle of the calling thread's core, at its present frequency: times a chain of
 * `links` dependent operations of known latency (clock_chain() names them); about 16 us for 49152
 * links at 3 GHz. The least of 3 tries, so that one interrupt does no harm. 0: no such chain for
 * this architecture.
 */
double clock_cycle(unsigned links);
const char *clock_chain(void);

/*
 * Operations per cycle of the calling thread's core at this moment, for operations that do not
 * depend on each other: 4 to 6 on cores that execute as many at once. It falls to about half while
 * another hardware thread of the core works, whether or not this machine knows of that thread: a
 * guest does not. The core's frequency has no influence. 4 x `links` operations are timed between
 * two chains of `links`: about 3 us for 2048. 0: no such chain for this architecture.
 */
double clock_width(unsigned links);

#endif
