/* SPDX-License-Identifier: Apache-2.0 */
/*
 * strides - a second opinion on `locus prefetch`: another walk over the same elements, written
 * apart and by another method.
 *
 *			locus				the other
 *	addresses	offsets in words, in a table	offsets in bytes, in a table
 *	random order	Feistel network			Sattolo's shuffle, drawn by xorshift
 *	words		the first of each element	the second
 *	timing		CLOCK_MONOTONIC_RAW		CLOCK_MONOTONIC
 *
 * Before each walk the lines are evicted. Prefetchers learn, each load instruction by itself, and
 * keep what they learned: of two equal loops in a process one may take twice as long as the other,
 * or a tenth more, in all of its walks. So each pair of runs has a process of its own, in which
 * the two loops walk in turn. Prints the median of the ratios and its 95 % interval, and ends
 * with 1 where the two differ by more than 5 %. For a quiet machine.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "bench/prefetch/prefetch.h"
#include "beside.h"
#include "machine/clock.h"
#include "machine/memory/arena.h"
#include "machine/memory/region.h"
#include "machine/topology/topology.h"

enum { LINES = 4096, SAMPLES = 20 };
#define LIMIT 0.05

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* ---- the other walk ---- */

struct element {
	uint64_t unused;
	struct element *next;
};

static inline struct element *element_at(char *base, uint32_t offset)
{
	return (struct element *)(void *)(base + offset);
}

static uint64_t xorshift(uint64_t *x)
{
	*x ^= *x << 13;
	*x ^= *x >> 7;
	*x ^= *x << 17;
	return *x;
}

/* The table, as large as that of locus: what is read of it costs time, too. */
static void fill_table(uint32_t *table, char *base, size_t stride, enum order order)
{
	uint64_t random = UINT64_C(88172645463325252);

	for (size_t i = 0; i < LINES; i++) {
		const size_t at = order == ORDER_BACKWARD ? LINES - 1 - i : i;

		table[i] = (uint32_t)(at * stride);
	}
	for (size_t i = LINES - 1; i > 0 && order == ORDER_RANDOM; i--) {
		const size_t j = xorshift(&random) % i;
		const uint32_t spare = table[i];

		table[i] = table[j];
		table[j] = spare;
	}
	for (size_t i = 0; i < LINES; i++)
		element_at(base, table[i])->next = element_at(base, table[(i + 1) % LINES]);
}

static __attribute__((noinline)) void read_table(const uint32_t *table, char *base)
{
	for (size_t i = 0; i < LINES; i++) {
		struct element *next = element_at(base, table[i])->next;

		__asm__ volatile("" : : "r"(next));
	}
}

static __attribute__((noinline)) void follow(const struct element *at)
{
	for (size_t i = 0; i < LINES; i++)
		at = at->next;
	__asm__ volatile("" : : "r"(at) : "memory");
}

/* ---- side by side ---- */

/* s of a load in a walk by one of the two. */
static double time_walk(bool locus, const struct walk *w, const uint32_t *table, bool dependent,
			size_t line)
{
	double begin, end;

	walk_evict(w, line);
	begin = locus ? clock_now() : now();
	if (locus)
		(dependent ? walk_dependent : walk_independent)(w, 1);
	else if (dependent)
		follow(element_at(w->base, table[0]));
	else
		read_table(table, w->base);
	end = locus ? clock_now() : now();
	return (end - begin) / LINES;
}

enum { PAIRS = 1, STRIDE, ORDER, DEPENDENT, OTHER_FIRST, ARGUMENTS }; /* of a process for a pair */

/* Prints the times of both, that of locus first. */
static int measure_pair(const struct machine *m, char **argument)
{
	static uint32_t table[LINES], offsets[LINES];
	const size_t stride = strtoul(argument[STRIDE], NULL, 10);
	const enum order order = (enum order)strtoul(argument[ORDER], NULL, 10);
	const bool dependent = strtoul(argument[DEPENDENT], NULL, 10);
	const unsigned first = (unsigned)strtoul(argument[OTHER_FIRST], NULL, 10);
	struct arena *arena = arena_open(m);
	struct region *region =
		arena ? region_map(arena, "elements", LINES * stride, PAGES_THP) : NULL;
	double time[2][SAMPLES];
	struct walk w;

	if (!region)
		return 1;
	memset(region_base(region), 0, LINES * stride);
	w = (struct walk){ region_base(region), stride, LINES, offsets };
	walk_lay(&w, order, 1);
	fill_table(table, region_base(region), stride, order);
	for (unsigned i = 0; i < SAMPLES; i++)
		for (unsigned k = 0; k < 2; k++) {
			const unsigned other = k ^ first;

			time[other][i] = time_walk(!other, &w, table, dependent, m->line);
		}
	for (unsigned k = 0; k < 2; k++) {
		statistics_sort(time[k], SAMPLES);
		printf("%.17g\n", statistics_quantile(time[k], SAMPLES, 0.5));
	}
	arena_close(arena);
	return 0;
}

static int compare(const char *program, size_t stride, enum order order, bool dependent,
		   unsigned pairs, bool *differ)
{
	static const char *const names[] = { "forward", "backward", "random" };
	double ours[pairs], theirs[pairs];
	char text[4096];

	for (unsigned i = 0; i < pairs; i++) {
		FILE *pair;
		bool good;

		snprintf(text, sizeof(text), "'%s' %u %zu %d %d %u", program, pairs, stride, order,
			 dependent, i % 2);
		pair = popen(text, "r");
		good = pair && fscanf(pair, "%lf %lf", &ours[i], &theirs[i]) == 2;
		if (!pair || pclose(pair) || !good)
			return -1;
	}
	snprintf(text, sizeof(text), "%-11s %-8s %5zu", dependent ? "dependent" : "independent",
		 names[order], stride);
	print_beside(text, ours, theirs, pairs, LIMIT, differ);
	return 0;
}

int main(int argc, char **argv)
{
	static const size_t strides[] = { 64, 256, 4096 + 64 };
	struct beside_program program;
	const struct machine *m;
	unsigned pairs;
	bool differ = false;

	if (!beside_begin(&program, argc, argv, "strides",
			  "usage: strides [PAIRS], from 6 to 1000"))
		return 2;
	m = program.machine;
	pairs = program.pairs;
	beside_stay_on(m->cpu[m->cpus - 1].number);
	if (argc == ARGUMENTS)
		return measure_pair(m, argv);
	printf("A walk of locus against another over the same elements, %u processes, CPU "
	       "%d\n%-26s  %11s  %11s  %6s  95 %% interval\n",
	       pairs, m->cpu[m->cpus - 1].number, "loads       order    stride", "locus", "other",
	       "ratio");
	for (unsigned i = 0; i < sizeof(strides) / sizeof(*strides); i++)
		for (unsigned j = 0; j < 2 * 3; j++)
			if (compare(argv[0], strides[i], j % 3, j / 3, pairs, &differ)) {
				fprintf(stderr, "strides: a process for a pair has failed\n");
				return 1;
			}
	beside_end(&program);
	return differ;
}
