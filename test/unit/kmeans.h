/* SPDX-License-Identifier: Apache-2.0 */
/* Problems for the variants of kmeans, and a team that solves them. */
#ifndef LOCUS_TEST_KMEANS_H
#define LOCUS_TEST_KMEANS_H

#include <math.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/arithmetic.h"
#include "bench/kmeans/kmeans.h"
#include "bench/kmeans/ladder.h"
#include "cases.h"
#include "kit/shares.h"
#include "machine/memory/arena.h"
#include "machine/topology/topology.h"

#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))

enum { MOST_THREADS = 4, CASES = 60, MOST_POINTS = 240 };

/* ---- random numbers: SplitMix64, from a seed that is always the same ---- */

static uint64_t seed;

static inline uint64_t random_word(void)
{
	uint64_t z = seed += UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
	return z ^ (z >> 31);
}

static inline unsigned below(unsigned n)
{
	return (unsigned)(random_word() % n);
}

static inline double uniform(void)
{
	return (double)(random_word() >> 11) * 0x1p-53;
}

/* ---- problems ---- */

static const char *const kinds[] = { "uniform",
				     "clumps",
				     "duplicates",
				     "one point",
				     "collinear",
				     "far from the origin",
				     "centres out of reach" };
enum kind { UNIFORMLY, CLUMPS, DUPLICATES, ONE_POINT, COLLINEAR, FAR_AWAY, OUT_OF_REACH };

/*
 * Sums of exact values do not depend on the order. Ties are then possible, and are broken alike
 * only by the same formula.
 */
static inline bool is_exact(enum kind kind)
{
	return kind == DUPLICATES || kind == ONE_POINT || kind == COLLINEAR;
}

static inline double coordinate(enum kind kind, unsigned row, unsigned dimension)
{
	switch (kind) {
	case CLUMPS:
		return (double)(row % 5) * (dimension + 1) + 0.1 * uniform();
	case DUPLICATES:
		return below(3);
	case ONE_POINT:
		return 7;
	case COLLINEAR:
		return (double)(row * 37 % 64) * (dimension + 1);
	case FAR_AWAY:
		return 1e6 + uniform();
	default:
		return uniform();
	}
}

/* Start centres are points at equal distances in the array, so with duplicates some are equal. */
static inline void invent(struct problem *p, enum kind kind, enum real real, size_t n, unsigned d,
			  unsigned k)
{
	void *start = malloc(k * d * sizeof(double));

	*p = (struct problem){
		.points = { .real = real, .n = n, .d = d, .x = malloc(n * d * sizeof(double)) },
		.all = n,
		.k = k,
		.start = start
	};
	assert_non_null(p->points.x);
	assert_non_null(start);
	for (size_t i = 0; i < n * d; i++)
		real_set(real, p->points.x, i,
			 coordinate(kind, (unsigned)(i / d), (unsigned)(i % d)));
	for (unsigned c = 0; c < k; c++)
		for (unsigned j = 0; j < d; j++)
			real_set(real, start, c * d + j,
				 real_get(real, p->points.x, share_begin(n, c, k) * d + j) +
					 (kind == OUT_OF_REACH && c % 2 ? 100 : 0));
}

static inline void forget(struct problem *p)
{
	free(p->points.x);
	free((void *)p->start);
}

/* ---- the plain one ---- */

struct answer {
	uint32_t *label;
	double *mean;
	uint64_t *count;
	uint64_t iterations;
};

static inline uint32_t nearest(const struct problem *p, size_t point, const double *mean)
{
	double least = INFINITY;
	uint32_t nearest = 0;

	for (uint32_t c = 0; c < p->k; c++) {
		double sum = 0;
		float short_sum = 0;

		for (unsigned j = 0; j < p->points.d; j++) {
			const double x = real_get(p->points.real, p->points.x,
						  point * p->points.d + j),
				     m = mean[c * p->points.d + j];
			const float short_delta = (float)x - (float)m;

			sum += (x - m) * (x - m);
			short_sum += short_delta * short_delta;
		}
		if (p->points.real == REAL_FLOAT)
			sum = short_sum;
		if (sum < least) {
			least = sum;
			nearest = c;
		}
	}
	return nearest;
}

/* ---- the team, and a variant on it ---- */

struct fixture {
	struct team *team;
	struct machine *machine;
	struct place place[MOST_THREADS];
};

static inline void seat(struct fixture *f, unsigned threads)
{
	unsigned culprit;

	assert_int_equal(team_seat(f->team, f->place, threads, &culprit), 0);
}

static inline void *map(void *arena, const char *name, size_t bytes, bool huge)
{
	struct region *r = region_map(arena, name, bytes, huge ? PAGES_THP : PAGES_BASE);

	return r ? region_base(r) : NULL;
}

static inline void claim(void *arena, void *part, size_t bytes, unsigned worker, bool alone)
{
	(void)arena, (void)part, (void)bytes, (void)worker, (void)alone;
}

struct job {
	struct ladder *ladder;
	struct lloyd *lloyd;
	uint64_t done[MOST_THREADS];
};

static inline void enter(void *argument, struct worker *w)
{
	struct job *job = argument;

	if (job->ladder)
		ladder_enter(job->ladder, w);
	else
		lloyd_enter(job->lloyd, w);
}

static inline void work(void *argument, struct worker *w)
{
	struct job *job = argument;

	if (job->lloyd) {
		lloyd_work(job->lloyd, w);
		return;
	}
	ladder_work(job->ladder, w);
	job->done[w->index] = w->done;
}

enum { BEST = RUNGS, VARIANTS };

/*
 * Calls back with the solution of a variant, which is valid during the call. Solves twice: the
 * second time must start afresh.
 */
static inline void solve(struct fixture *f, struct problem *p, unsigned threads, unsigned variant,
			 void (*then)(const struct problem *, const struct solution *, void *),
			 void *argument)
{
	struct arena *arena = arena_open(f->machine);
	struct job job = { 0 };

	assert_non_null(arena);
	p->team = f->team;
	p->threads = threads;
	seat(f, threads);
	if (variant == BEST)
		job.lloyd = lloyd_open(p, PRUNE_AUTO, &(struct lloyd_memory){ arena, map, claim });
	else
		job.ladder = ladder_open(p, (enum rung)variant, arena);
	assert_true(job.lloyd || job.ladder);
	team_run(f->team, enter, &job);
	for (int time = 0; time < 2; time++) {
		team_run(f->team, work, &job);
		then(p, job.ladder ? ladder_solution(job.ladder) : lloyd_solution(job.lloyd),
		     argument);
	}
	for (unsigned i = 0; job.ladder && i < threads; i++)
		assert_int_equal(job.done[i], ladder_solution(job.ladder)->iterations);
	lloyd_close(job.lloyd);
	ladder_close(job.ladder);
	arena_close(arena);
}

static inline void is_right(const struct problem *p, const struct solution *s, void *unused)
{
	const char *wrong = solution_verify(p, s);

	(void)unused;
	if (wrong)
		fail_msg("%s", wrong);
}

/* The present case, printed on failure so that it can be repeated. */
static char at_hand[128];

static inline int say_which(void **state)
{
	(void)state;
	print_message("# the last one: %s\n", at_hand);
	return 0;
}

static inline int with_team(int (*body)(struct team *, void *))
{
	struct fixture f = { 0 };
	const char *error;
	cpu_set_t set;
	unsigned n = 0;
	int status;

	assert_int_equal(sched_getaffinity(0, sizeof(set), &set), 0);
	for (int cpu = 0; n < MOST_THREADS; cpu = (cpu + 1) % CPU_SETSIZE)
		if (CPU_ISSET(cpu, &set))
			f.place[n++] = (struct place){ cpu, 0 };
	f.machine = machine_open(NULL, &error);
	assert_non_null(f.machine);
	status = team_open(MOST_THREADS, body, &f);
	machine_close(f.machine);
	return status;
}

#define WITH_TEAM(NAME)                               \
	static void test_##NAME(void **state)         \
	{                                             \
		(void)state;                          \
		assert_int_equal(with_team(NAME), 0); \
	}

#endif
