/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "machine/clock.h"

enum { READINGS = 1001 };

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

struct clock_quality clock_measure(void)
{
	struct clock_quality quality = { 0, 1 };
	double step[READINGS];

	for (int i = 0; i < READINGS; i++) {
		double begin = clock_now(), end;

		for (int j = 0; j < 8; j++) /* several, so that the clock's own resolution does not hide the cost */
			end = clock_now();
		step[i] = (end - begin) / 8;
	}
	qsort(step, READINGS, sizeof(*step), by_value);
	quality.overhead = step[READINGS / 2];
	for (int i = 0; i < READINGS; i++) {
		double begin = clock_now(), end;

		while ((end = clock_now()) == begin)
			;
		if (end - begin < quality.resolution)
			quality.resolution = end - begin;
	}
	return quality;
}

/*
 * Latencies, in cycles, from the cores' optimisation guides: a 64-bit multiplication takes 3 on x86-64 from Nehalem and Zen 3 on (4 on
 * Zen 1 and 2: there the result reads a third too slow, which the frequency beside it shows); exclusive or takes 1 on every 64-bit Arm
 * core. Neither is done away with at rename, as moves and, on some cores, additions of small constants are.
 */
#if defined(__x86_64__)
#define LINK "imul %0, %0\n\t"
#define LINK_CYCLES 3
#define LINK_NAME "imul, 3 cycles"
#elif defined(__aarch64__)
#define LINK "eor %0, %0, %1\n\t"
#define LINK_CYCLES 1
#define LINK_NAME "eor, 1 cycle"
#else
#define LINK_CYCLES 0
#define LINK_NAME "none known for this architecture"
#endif

const char *clock_chain(void)
{
	return LINK_NAME;
}

double clock_cycle(unsigned links)
{
#if LINK_CYCLES
	double least = 1;

	for (int try = 0; try < 3; try++) {
		uint64_t x = 3, y = 5;
		double begin = clock_now(), took;

		for (unsigned i = 0; i < links / 16; i++)
			__asm__ volatile(LINK LINK LINK LINK LINK LINK LINK LINK LINK LINK LINK LINK LINK LINK LINK LINK : "+r"(x) : "r"(y));
		took = (clock_now() - begin) / ((double)(links / 16 * 16) * LINK_CYCLES);
		if (took < least)
			least = took;
	}
	return least;
#else
	(void)links;
	return 0;
#endif
}
