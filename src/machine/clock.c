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

		/* several readings, so that the clock's own resolution does not hide the cost */
		for (int j = 0; j < 8; j++)
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

struct both {
	double now;
	uint64_t ticks;
};

/*
 * Reads both clocks at one moment: takes the try with the least time between the two readings of
 * the tick counter, since no preemption has lengthened it.
 */
static struct both read_both(void)
{
	enum { TRIES = 5 };
	struct both both = { 0, 0 };
	uint64_t least = UINT64_MAX;

	for (unsigned i = 0; i < TRIES; i++) {
		const uint64_t before = clock_ticks();
		const double now = clock_now();
		const uint64_t took = clock_ticks() - before;

		if (took >= least)
			continue;
		least = took;
		both = (struct both){ now, before + took / 2 };
	}
	return both;
}

double clock_tick(void)
{
	const double enough = 2e-3;
	const struct both from = read_both();
	struct both to;

	do
		to = read_both();
	while (to.now < from.now + enough);
	return (to.now - from.now) / (double)(to.ticks - from.ticks);
}

/*
 * Exclusive or of two registers takes 1 cycle on every x86-64 and 64-bit Arm core, by their
 * optimisation guides. It is not eliminated at rename, unlike moves, additions of small constants
 * (on some cores), and exclusive or of a register with itself. Multiplications take 3 cycles on
 * most cores, but 4 or 5 on some.
 */
#if defined(__x86_64__)
#define LINK	    "xor %1, %0\n\t"
#define LINK_CYCLES 1
#define LINK_NAME   "xor, 1 cycle"
#elif defined(__aarch64__)
#define LINK	    "eor %0, %0, %1\n\t"
#define LINK_CYCLES 1
#define LINK_NAME   "eor, 1 cycle"
#else
#define LINK_CYCLES 0
#define LINK_NAME   "none known for this architecture"
#endif

const char *clock_chain(void)
{
	return LINK_NAME;
}

double clock_cycle(unsigned links)
{
#if LINK_CYCLES
	const unsigned sixteens = links / 16;
	double least = 1;

	for (int try = 0; try < 3; try++) {
		uint64_t x = 3, y = 5;
		double begin = clock_now(), took;

		for (unsigned i = 0; i < sixteens; i++)
			__asm__ volatile(LINK LINK LINK LINK LINK LINK LINK LINK LINK LINK LINK LINK
						 LINK LINK LINK LINK
					 : "+r"(x)
					 : "r"(y));
		took = (clock_now() - begin) / (16.0 * sixteens * LINK_CYCLES);
		if (took < least)
			least = took;
	}
	return least;
#else
	(void)links;
	return 0;
#endif
}
