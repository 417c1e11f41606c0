/* SPDX-License-Identifier: Apache-2.0 */
/*
 * chain - a second opinion on `locus latency`: another chain in the same buffer, written apart and
 * by another method.
 *
 *			locus						the other
 *	nodes		a line                                          32 bytes, one of the two in
 *                      each line, by lot
 *	order		Feistel network, no table                       Sattolo's shuffle of a table
 *                      (1986), drawn by xorshift
 *	steps		pointer = *pointer, 16 a turn                   node = node->next, 8 a turn
 *                      (an index or offset would add a cycle in L1)
 *	timing		samples of about 1 ms, CLOCK_MONOTONIC_RAW      one long run each,
 *                      CLOCK_THREAD_CPUTIME_ID: preemption does not count
 *
 * Both chains lie in the buffer at once, in different words of its lines, and are followed
 * alternately, so they meet the same pages, caches and moments. Prints, for each working set, the
 * median of the ratios and its 95 % interval, and ends with 1 where the two differ by more than
 * they may: 3 % on plateaus, 15 % at edges. For a quiet machine.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "bench/latency/chain.h"
#include "beside.h"
#include "machine/memory/arena.h"
#include "machine/clock.h"
#include "machine/memory/region.h"
#include "machine/topology/topology.h"

enum { SAMPLES = 20 };

/* --- the other chain --- */

/* `next` lies where the pointers of the first chain do not. */
struct other {
	uint64_t unused;
	struct other *next;
	uint64_t more[2];
};
_Static_assert(sizeof(struct other) == 32, "two nodes in a line of 64 bytes");

static uint64_t xorshift(uint64_t *x)
{
	*x ^= *x << 13;
	*x ^= *x >> 7;
	*x ^= *x << 17;
	return *x;
}

/* Lays the chain through n lines; its first node in *start. */
static int shuffle_cycle(char *base, size_t line, size_t n, const struct other **start)
{
	uint64_t random = UINT64_C(88172645463325252);
	uint32_t *order = malloc(n * sizeof(*order));
	unsigned char *half = malloc(n);

	if (!order || !half)
		goto fail;
	for (size_t i = 0; i < n; i++) {
		order[i] = (uint32_t)i;
		half[i] = xorshift(&random) >> 40 & 1;
	}
	for (size_t i = n - 1; i > 0; i--) {
		size_t j = xorshift(&random) % i;
		uint32_t spare = order[i];

		order[i] = order[j];
		order[j] = spare;
	}
	for (size_t i = 0; i < n; i++) {
		struct other *node = (struct other *)(base + i * line) + half[i];

		node->next = (struct other *)(base + order[i] * line) + half[order[i]];
	}
	*start = (struct other *)base + half[0];
	free(order);
	free(half);
	return 0;
fail:
	free(order);
	free(half);
	return -1;
}

static __attribute__((noinline)) const struct other *walk(const struct other *at, uint64_t steps)
{
	for (uint64_t i = 0; i < steps / 8; i++)
		at = at->next->next->next->next->next->next->next->next;
	return at;
}

/* s per load, of one long run; *at goes on. */
static double time_other(const struct other **at, uint64_t steps)
{
	const uint64_t walked = steps / 8 * 8;
	double begin = cpu_now();

	*at = walk(*at, steps);
	/* keeps the walk, and keeps it before the next look at the clock */
	__asm__ volatile("" : : "r"(*at) : "memory");
	return (cpu_now() - begin) / (double)walked;
}

/* --- the chain of locus, sampled as its harness does --- */

static double time_locus(const void *base, union position *at, uint64_t rounds)
{
	double sample[SAMPLES];

	for (unsigned i = 0; i < SAMPLES; i++) {
		double begin = clock_now();

		chase_choose(1, false)(at, base, rounds);
		sample[i] = (clock_now() - begin) / (double)(rounds * chase_loads(1));
	}
	statistics_sort(sample, SAMPLES);
	return statistics_quantile(sample, SAMPLES, 0.5);
}

/* --- side by side --- */

struct point {
	const char *name;
	size_t bytes;
	double limit;
};

static int compare(const struct machine *m, const struct point *p, unsigned pairs, bool *differ)
{
	struct chain chain = { .pattern = PATTERN_CYCLE,
			       .bytes = p->bytes,
			       .stride = m->line,
			       .page = m->page,
			       .line = m->line,
			       .seed = 1 };
	const size_t lines = chain_elements(&chain);
	double ours[pairs], theirs[pairs], each;
	char what[64];
	struct arena *arena = arena_open(m);
	struct region *region = arena ? region_map(arena, "the buffer", p->bytes, PAGES_THP) : NULL;
	union position at;
	const struct other *other;
	uint64_t rounds;
	char *base;

	if (!region)
		return -1;
	base = region_base(region);
	memset(base, 0, p->bytes);
	chain_lay(&chain, base, false, 0, lines);
	if (shuffle_cycle(base, m->line, lines, &other))
		return -1;
	at.element = base + chain_at(&chain, 0);
	/* warm, and an estimate */
	chase_choose(1, false)(&at, base, 2 * lines / chase_loads(1) + 64);
	each = time_locus(base, &at, 64);
	rounds = (uint64_t)(1e-3 / each / chase_loads(1)) + 1;
	for (unsigned i = 0; i < pairs; i++) {
		/*
		 * A round before each where a round is short: what stays in the caches is to be the
		 * chain's own.
		 */
		uint64_t warm = (double)lines * each < 0.05 ? lines : 0;

		chase_choose(1, false)(&at, base, warm / chase_loads(1));
		ours[i] = time_locus(base, &at, rounds);
		time_other(&other, warm);
		theirs[i] = time_other(&other, SAMPLES * rounds * chase_loads(1));
	}
	snprintf(what, sizeof(what), "%-8s %9zu KiB", p->name, p->bytes >> 10);
	print_beside(what, ours, theirs, pairs, p->limit, differ);
	arena_close(arena);
	return 0;
}

/* Bytes of the data cache of that level; `otherwise` if they are not known. */
static size_t cache(const struct machine *m, hwloc_obj_type_t type, size_t otherwise)
{
	hwloc_obj_t object = hwloc_get_obj_by_type(m->topology, type, 0);

	return object ? object->attr->cache.size : otherwise;
}

int main(int argc, char **argv)
{
	struct beside_program program;
	const struct machine *m;
	unsigned pairs;
	bool differ = false;
	size_t l1, l2, top;

	if (!beside_begin(&program, argc, argv, "chain", "usage: chain [PAIRS], from 6 to 1000"))
		return 2;
	m = program.machine;
	pairs = program.pairs;
	beside_stay_on(m->cpu[m->cpus - 1].number);
	l1 = cache(m, HWLOC_OBJ_L1CACHE, 32 << 10);
	l2 = cache(m, HWLOC_OBJ_L2CACHE, 256 << 10);
	top = (m->last_cache > (16 << 20) ? m->last_cache : 16 << 20) / (1 << 20) * (4 << 20);
	printf("A chain of locus against another in the same buffer, %u alternating pairs, CPU "
	       "%d\n",
	       pairs, m->cpu[m->cpus - 1].number);
	printf("%-8s %17s  %11s  %11s  %6s  95 %% interval\n", "where", "working set", "locus",
	       "other", "ratio");
	const struct point points[] = {
		{ "L1", l1 / 2, 0.03 },	 { "L1 edge", l1, 0.15 }, { "mid L2", l2 / 2, 0.03 },
		{ "L2 edge", l2, 0.15 }, { "memory", top, 0.03 },
	};
	for (unsigned i = 0; i < sizeof(points) / sizeof(*points); i++)
		if (compare(m, &points[i], pairs, &differ)) {
			fprintf(stderr, "chain: no memory for %zu bytes\n", points[i].bytes);
			return 1;
		}
	beside_end(&program);
	return differ;
}
