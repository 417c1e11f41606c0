/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The clock: CLOCK_MONOTONIC_RAW, which no time daemon steers; and the core's own, by a chain of
 * multiplications.
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
 * A counter that runs at one rate on a CPU, whatever its clock does; for what is too short for
 * clock_now(). What a tick is, who reads both knows. Not ordered with what stands around it.
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
 * Both in s. Overhead: median cost of one reading. Resolution: the smallest step seen between two
 * readings that differ.
 */
struct clock_quality {
	double overhead, resolution;
};
struct clock_quality clock_measure(void);

/*
 * s per core cycle, now, on the calling thread: `links` operations that each wait for the one
 * before and whose latency is known (clock_chain() says which); about 16 us for 49152 links at 3
 * GHz. The least of 3 tries, so that one interrupt does no harm.
 */
double clock_cycle(unsigned links);
const char *clock_chain(void);

#endif
