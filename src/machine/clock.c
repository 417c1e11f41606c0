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
#define ONE(x)	    "xor %8, %" #x "\n\t"
#define LINK_CYCLES 1
#define LINK_NAME   "xor, 1 cycle"
#elif defined(__aarch64__)
#define LINK	    "eor %0, %0, %1\n\t"
#define ONE(x)	    "eor %" #x ", %" #x ", %8\n\t"
#define LINK_CYCLES 1
#define LINK_NAME   "eor, 1 cycle"
#else
#define LINK_CYCLES 0
#define LINK_NAME   "none known for this architecture"
#endif

#define EIGHT ONE(0) ONE(1) ONE(2) ONE(3) ONE(4) ONE(5) ONE(6) ONE(7)

const char *clock_chain(void)
{
	return LINK_NAME;
}

#if LINK_CYCLES

/* s for this many times 16 links. */
__attribute__((always_inline)) static inline double time_chain(unsigned sixteens)
{
	uint64_t x = 3, y = 5;
	const double begin = clock_now();

	for (unsigned i = 0; i < sixteens; i++)
		__asm__ volatile(LINK LINK LINK LINK LINK LINK LINK LINK LINK LINK LINK LINK LINK
					 LINK LINK LINK
				 : "+r"(x)
				 : "r"(y));
	return clock_now() - begin;
}

/* s for this many times 16 operations, each of which depends on the eighth before it. */
static double time_independent(unsigned sixteens)
{
	uint64_t a = 1, b = 2, c = 3, d = 4, e = 5, f = 6, g = 7, h = 8;
	const uint64_t y = 9;
	const double begin = clock_now();

	for (unsigned i = 0; i < sixteens; i++)
		__asm__ volatile(EIGHT EIGHT
				 : "+r"(a), "+r"(b), "+r"(c), "+r"(d), "+r"(e), "+r"(f), "+r"(g),
				   "+r"(h)
				 : "r"(y));
	return clock_now() - begin;
}

double clock_cycle(unsigned links)
{
	const unsigned sixteens = links / 16;
	double least = 1;

	for (int try = 0; try < 3; try++) {
		const double took = time_chain(sixteens) / (16.0 * sixteens * LINK_CYCLES);

		if (took < least)
			least = took;
	}
	return least;
}

/* An interrupt lengthens one of the two chains, or makes the core seem narrower. */
double clock_width(unsigned links)
{
	const unsigned sixteens = links / 16;
	const double before = time_chain(sixteens), both = time_independent(4 * sixteens),
		     after = time_chain(sixteens);

	return 4 * LINK_CYCLES * (before < after ? before : after) / both;
}

#else

double clock_cycle(unsigned links)
{
	(void)links;
	return 0;
}

double clock_width(unsigned links)
{
	(void)links;
	return 0;
}

#endif
