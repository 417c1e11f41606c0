/* SPDX-License-Identifier: Apache-2.0 */
/*
 * search - how fast the tree of `locus search` is beside other ways to search the same array
 * (searchers.c, standard.cc).
 *
 *	S+ tree		the best known: packets of 128 through lines with FAN + 1 children, AVX2,
 *                      prefetch, -O3, unrolled
 *	Eytzinger	batches of 16, prefetch four levels ahead
 *	branch-free	one key after the other
 *	std::lower_bound	left out where there was no C++ compiler
 *
 * One pinned thread, the same array and keys, all on huge pages; both in turn, first the one, then
 * the other. There are too many keys for a branch predictor to learn. Prints medians, that of the
 * ratios with its 95 % interval, and ends with 1 where the tree misses a goal (goal.h): 1.15 times
 * as fast as the S+ tree at 16 KiB, and 1.3 times from 256 KiB. Rows without a goal show what the
 * instructions are worth: ours with AVX2, and with those that are always there. For a quiet
 * machine.
 */
#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "beside.h"
#include "goal.h"
#include "searchers.h"
#include "solve/tree/tree.h"
#include "kit/random.h"
#include "machine/threads/affinity.h"
#include "machine/clock.h"
#include "machine/memory/arena.h"
#include "machine/memory/placement.h"
#include "machine/memory/region.h"
#include "machine/topology/topology.h"

enum {
	CALL = 32 * PACKET, /* keys of a call; their answers stay in the first cache */
	KEYS = 1 << 22,
};
static const double turn = 0.05; /* s, of the slower of a pair, as far as there are keys */

/* An array, what is searched in it, and the tree. */
struct scene {
	const struct machine *machine;
	unsigned width, pairs;
	size_t n;
	const void *sorted, *keys;
	uint32_t *answers;
	struct tree tree;
	tree_search *ours;
	bool missed;
};

static const void *key_at(const struct scene *s, size_t i)
{
	return (const char *)s->keys + i * s->width;
}

static void search_ours(const struct scene *s, size_t first, size_t count)
{
	for (size_t i = 0; i < count; i += CALL)
		s->ours(&s->tree, key_at(s, first + i), CALL, PACKET, s->answers);
}

static void search_theirs(const struct scene *s, const struct other *o, const void *memory,
			  size_t first, size_t count)
{
	for (size_t i = 0; i < count; i += CALL)
		o->search(memory, key_at(s, first + i), CALL, s->answers);
}

/* s per key. */
static double time_ours(const struct scene *s, size_t first, size_t count)
{
	double begin = cpu_now();

	search_ours(s, first, count);
	return (cpu_now() - begin) / (double)count;
}

static double time_theirs(const struct scene *s, const struct other *o, const void *memory,
			  size_t first, size_t count)
{
	double begin = cpu_now();

	search_theirs(s, o, memory, first, count);
	return (cpu_now() - begin) / (double)count;
}

/* Whether the first answers of both are the same. */
static bool agree(const struct scene *s, const struct other *o, const void *memory)
{
	uint32_t ours[CALL];

	for (size_t first = 0; first < 16 * CALL; first += CALL) {
		search_ours(s, first, CALL);
		memcpy(ours, s->answers, sizeof(ours));
		search_theirs(s, o, memory, first, CALL);
		if (memcmp(ours, s->answers, sizeof(ours)))
			return false;
	}
	return true;
}

static void *map(struct arena *arena, size_t bytes)
{
	struct region *r = arena ? region_map(arena, "search", bytes, PAGES_THP) : NULL;

	if (!r) {
		fprintf(stderr, "search: no memory for %zu bytes\n", bytes);
		exit(2);
	}
	return region_base(r);
}

/* `goal`: 0, there is none. */
static void print_times(const struct scene *s, const char *what, double *ours, double *theirs,
			double goal, bool *missed)
{
	double ratio[s->pairs], low = NAN, high = NAN, middle;

	for (unsigned i = 0; i < s->pairs; i++)
		ratio[i] = theirs[i] / ours[i];
	statistics_sort(ours, s->pairs);
	statistics_sort(theirs, s->pairs);
	statistics_sort(ratio, s->pairs);
	middle = statistics_quantile(ratio, s->pairs, 0.5);
	statistics_median_interval(ratio, s->pairs, &low, &high);
	printf("u%-2u %7zu KiB  %-38s  %7.2f ns  %7.2f ns  %6.2f  [%.2f, %.2f]", 8 * s->width,
	       s->n * s->width >> 10, what, 1e9 * statistics_quantile(ours, s->pairs, 0.5),
	       1e9 * statistics_quantile(theirs, s->pairs, 0.5), middle, low, high);
	if (goal > 0) {
		printf("  goal %.2f: %s", goal, goal_outcome(low, high, goal, INFINITY));
		*missed |= goal_missed(low, high, goal, INFINITY);
	}
	printf("\n");
	fflush(stdout);
}

static void compare(struct scene *s, const struct other *o, const void *memory, const char *what,
		    double goal)
{
	double ours[s->pairs], theirs[s->pairs];
	size_t count = CALL;

	while (count < KEYS && time_theirs(s, o, memory, 0, count) * (double)count < turn)
		count *= 2;
	for (unsigned i = 0; i < s->pairs; i++) {
		const size_t first = i * count % KEYS;

		if (i % 2)
			theirs[i] = time_theirs(s, o, memory, first, count);
		ours[i] = time_ours(s, first, count);
		if (i % 2 == 0)
			theirs[i] = time_theirs(s, o, memory, first, count);
	}
	print_times(s, what, ours, theirs, goal, &s->missed);
}

/* Our tree with other sets of instructions. */
static void compare_parts(struct scene *s, const struct other *o, const void *memory)
{
	tree_search *const ours = s->ours;

	for (enum isa set = ISA_AVX2; set >= ISA_BASELINE; set--) {
		char what[64];

		s->ours = tree_searcher(s->width, set);
		snprintf(what, sizeof(what), "... ours with %s", isa_name(set));
		if (s->ours && s->ours != ours && isa_usable(set))
			compare(s, o, memory, what, 0);
	}
	s->ours = ours;
}

static void fill(void *to, size_t n, unsigned width, bool sorted)
{
	for (size_t i = 0; i < n; i++) {
		const uint64_t random = random_mix(sorted ? i + 1 : ~i);

		if (width == sizeof(uint32_t))
			((uint32_t *)to)[i] =
				(uint32_t)(sorted ? UINT32_MAX / n * i + random % (UINT32_MAX / n)
						  : random);
		else
			((uint64_t *)to)[i] =
				sorted ? UINT64_MAX / n * i + random % (UINT64_MAX / n) : random;
	}
}

static void build_tree(struct scene *s, struct arena *arena)
{
	const size_t bytes = tree_bytes(s->n, s->width);
	void *memory = map(arena, bytes);
	double begin;

	memset(memory, 0, bytes); /* so that page faults don't count as building */
	begin = clock_now();
	tree_build(&s->tree, s->sorted, s->n, s->width, memory);
	printf("u%-2u %7zu KiB  the tree was built in %.3g ms, and takes %.1f %% of the array\n",
	       8 * s->width, s->n * s->width >> 10, 1e3 * (clock_now() - begin),
	       100 * (double)bytes / (double)(s->n * s->width));
	for (enum isa set = 0; set < ISAS; set++)
		if (isa_usable(set) && tree_searcher(s->width, set))
			s->ours = tree_searcher(s->width, set);
}

static void compare_all(struct scene *s, size_t bytes)
{
	struct arena *arena = arena_open(s->machine);
	const struct other *o;
	struct placement p;
	void *sorted;

	s->n = bytes / s->width;
	s->sorted = sorted = map(arena, bytes);
	fill(sorted, s->n, s->width, true);
	build_tree(s, arena);
	for (unsigned i = 0; (o = searchers_other(s->width, i)); i++) {
		struct arena *theirs = arena_open(s->machine);
		void *memory = map(theirs, o->bytes(s->n));

		o->build(memory, sorted, s->n);
		if (!agree(s, o, memory)) {
			printf("u%u %zu KiB: %s and the tree do not agree\n", 8 * s->width,
			       bytes >> 10, o->name);
			s->missed = true;
		}
		compare(s, o, memory, o->name, i ? 0 : bytes < 256 << 10 ? 1.15 : 1.3);
		if (i == 0)
			compare_parts(s, o, memory);
		arena_close(theirs);
	}
	if (!arena_placement(arena, &p)) {
		if (!p.huge_unknown && p.huge < p.thp)
			printf("... only %.0f %% of the array and the tree were on huge pages\n",
			       100 * (double)p.huge / (double)p.thp);
		placement_free(&p);
	}
	arena_close(arena);
}

int main(int argc, char **argv)
{
	const char *error = "can't find out which CPUs we may use";
	struct scene s = { .pairs = argc > 1 ? (unsigned)strtoul(argv[1], NULL, 10) : 15 };
	const size_t most = argc > 2 ? strtoul(argv[2], NULL, 10) << 20 : (size_t)256 << 20;
	struct affinity affinity;
	struct machine *m = affinity_inherit(&affinity, &error) ? NULL : machine_open(NULL, &error);
	cpu_set_t set;

	if (!m || s.pairs < LEAST_VALUES || s.pairs > 1000) {
		fprintf(stderr, "search: %s\n",
			m ? "usage: search [PAIRS [MIB]], PAIRS from 6 to 1000, arrays of up to so "
			    "many MiB"
			  : error);
		return 2;
	}
	s.machine = m;
	CPU_ZERO(&set);
	CPU_SET((size_t)m->cpu[m->cpus - 1].number, &set);
	sched_setaffinity(0, sizeof(set), &set);
	printf("The tree of locus against other searches, %u alternating pairs, CPU %d\n", s.pairs,
	       m->cpu[m->cpus - 1].number);
	printf("%-15s  %-38s  %10s  %10s  %6s  95 %% interval\n", "array", "against", "locus",
	       "other", "faster");
	for (s.width = sizeof(uint32_t); s.width <= sizeof(uint64_t); s.width *= 2) {
		struct arena *arena = arena_open(m);
		void *keys = map(arena, (size_t)KEYS * s.width);

		fill(keys, KEYS, s.width, false);
		s.keys = keys;
		s.answers = map(arena, CALL * sizeof(*s.answers));
		for (size_t bytes = (size_t)16 << 10; bytes <= most; bytes *= bytes < 4 << 20 ? 16
									      : bytes < 64 << 20
										      ? 16
										      : 4)
			compare_all(&s, bytes);
		arena_close(arena);
	}
	if (!searchers_other(sizeof(uint32_t), 3))
		printf("std::lower_bound was left out: configure found no C++ compiler\n");
	machine_close(m);
	affinity_free(&affinity);
	return s.missed;
}
