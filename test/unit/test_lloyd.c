/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lloyd's k-means against a plain one, step by step; and against itself: any pruning, any number of
 * threads and any number of ranks give the same, bit for bit.
 */
#include <errno.h>
#include <float.h>
#include <math.h>
#include <pthread.h>
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
#include "bench/kmeans/balls.h"
#include "bench/kmeans/balls_state.h"
#include "bench/kmeans/boxes.h"
#include "bench/kmeans/boxes_state.h"
#include "bench/kmeans/bounds.h"
#include "bench/kmeans/bounds_state.h"
#include "bench/kmeans/brute.h"
#include "bench/kmeans/exact.h"
#include "bench/kmeans/frame.h"
#include "bench/kmeans/lloyd.h"
#include "bench/kmeans/rate.h"
#include "bench/kmeans/sums.h"
#include "bench/kmeans/tiles.h"
#include "cases.h"
#include "kit/shares.h"
#include "kit/random.h"
#include "kit/instructions.h"
#include "machine/memory/arena.h"
#include "machine/topology/topology.h"
#include "trial.h"

enum { MOST_THREADS = 5, CASES = 60 };

/* A stream of random numbers. */
struct dice {
	uint64_t seed, n;
};

static uint64_t draw(struct dice *dice)
{
	return random_mix(random_mix(dice->seed + 1) ^ random_mix(++dice->n));
}

static unsigned below(struct dice *dice, unsigned end)
{
	return (unsigned)(draw(dice) % end);
}

static double uniform(struct dice *dice)
{
	return (double)(draw(dice) >> 11) * 0x1p-53;
}

/* A problem, with all that it consists of. */
struct given {
	struct problem problem;
	double *x, *start; /* the values, as rounded to the points' type */
	const char *kind;
	uint64_t seed;
};

static void *typed(double *values, size_t n, enum real real)
{
	float *narrow;

	if (real == REAL_DOUBLE)
		return values;
	narrow = malloc(n * sizeof(*narrow) + 1);
	assert_non_null(narrow);
	for (size_t i = 0; i < n; i++) {
		narrow[i] = (float)values[i];
		values[i] = (double)narrow[i];
	}
	return narrow;
}

/* Turns values into a problem, and owns them from then on. */
static struct given problem_of(enum real real, size_t n, unsigned d, unsigned k, double *x,
			       double *start)
{
	struct given g = { .x = x, .start = start };

	g.problem = (struct problem){ .points = { real, n, d, typed(x, n * d, real) },
				      .all = n,
				      .k = k,
				      .start = typed(start, (size_t)k * d, real) };
	return g;
}

static void forget(struct given *g)
{
	if (g->problem.points.x != g->x) {
		free(g->problem.points.x);
		free((void *)g->problem.start);
	}
	free(g->x);
	free(g->start);
}

/* Value j of point i: what a kind of data is. */
static double unit(struct dice *dice, size_t i, unsigned j)
{
	(void)i, (void)j;
	return uniform(dice);
}

static double few_distinct(struct dice *dice, size_t i, unsigned j)
{
	(void)i, (void)j;
	return (double)below(dice, 2);
}

/* Sums of squares are exact: many scores are equal, and the first of the centres has to win. */
static double grid(struct dice *dice, size_t i, unsigned j)
{
	(void)i, (void)j;
	return (double)below(dice, 7) - 3;
}

static double collinear(struct dice *dice, size_t i, unsigned j)
{
	(void)dice;
	return (double)((i * 2654435761) % 1024) * (j + 1);
}

static double one_point(struct dice *dice, size_t i, unsigned j)
{
	(void)dice, (void)i;
	return 0.1 * (j + 1);
}

static double clustered(struct dice *dice, size_t i, unsigned j)
{
	return (double)(random_mix(i % 9 * 64 + j + 1) % 20) + uniform(dice);
}

static double far_away(struct dice *dice, size_t i, unsigned j)
{
	return 1e6 + clustered(dice, i, j);
}

static double of_all_sizes(struct dice *dice, size_t i, unsigned j)
{
	(void)i;
	return ldexp(uniform(dice) - 0.5, (int)(j % 5) * 12 - 24);
}

/* Values whose squares no float holds. */
static double huge(struct dice *dice, size_t i, unsigned j)
{
	return 1e37 * clustered(dice, i, j);
}

static double tiny(struct dice *dice, size_t i, unsigned j)
{
	return 1e-36 * clustered(dice, i, j);
}

static const struct {
	const char *name;
	double (*value)(struct dice *, size_t i, unsigned j);
} kinds[] = {
	{ "uniform", unit },	    { "few distinct", few_distinct }, { "grid", grid },
	{ "collinear", collinear }, { "one point", one_point },	      { "clustered", clustered },
	{ "far away", far_away },   { "of all sizes", of_all_sizes }, { "huge", huge },
	{ "tiny", tiny },
};

/* Some centres are points, maybe the same ones; some lie where no point is near. */
static struct given random_problem(uint64_t seed)
{
	struct dice dice = { seed, 0 };
	const unsigned kind = (unsigned)(seed % LENGTH(kinds)),
		       d = below(&dice, 4) ? 1 + below(&dice, 9) : 1 + below(&dice, 40);
	const size_t n = below(&dice, 8) ? 1 + below(&dice, 300) : 1 + below(&dice, 9);
	const unsigned most = n < 70 ? (unsigned)n : 70,
		       k = below(&dice, 8) ? 1 + below(&dice, most) : most;
	double *x = malloc(n * d * sizeof(*x)), *start = malloc((size_t)k * d * sizeof(*start));
	struct given g;

	assert_non_null(x);
	assert_non_null(start);
	for (size_t i = 0; i < n; i++)
		for (unsigned j = 0; j < d; j++)
			x[i * d + j] = kinds[kind].value(&dice, i, j);
	for (unsigned c = 0; c < k; c++) {
		const size_t row = k == n ? c : below(&dice, (unsigned)n);
		const double away = below(&dice, 10) ? 0 : fmin(1000 * fabs(x[row * d]), 1e38);

		for (unsigned j = 0; j < d; j++)
			start[(size_t)c * d + j] = x[row * d + j] + away;
	}
	g = problem_of(below(&dice, 2) ? REAL_FLOAT : REAL_DOUBLE, n, d, k, x, start);
	g.kind = kinds[kind].name;
	g.seed = seed;
	return g;
}

#define SAID(g)                                                                                 \
	(g)->kind, (unsigned long long)(g)->seed, (g)->problem.points.n, (g)->problem.points.d, \
		(g)->problem.k, (g)->problem.points.real == REAL_FLOAT ? "float" : "double"
#define PROBLEM "%s %llu: %zu x %u, k=%u, %s: "

/* A solution that outlives its solver. */
struct kept {
	uint32_t *label;
	double *from, *centre;
	uint64_t *count, iterations, distances;
};

static void *copy(const void *from, size_t bytes)
{
	void *to = malloc(bytes + 1);

	assert_non_null(to);
	return memcpy(to, from, bytes);
}

static struct kept keep(const struct solution *s, const struct problem *p)
{
	const size_t row = p->points.d * sizeof(double);

	return (struct kept){ copy(s->label, p->points.n * sizeof(*s->label)),
			      copy(s->from, p->k * row),
			      copy(s->centre, p->k * row),
			      copy(s->count, p->k * sizeof(*s->count)),
			      s->iterations,
			      s->distances };
}

static void drop(struct kept *k)
{
	free(k->label);
	free(k->from);
	free(k->centre);
	free(k->count);
}

static struct machine *machine;

static void enter(void *lloyd, struct worker *w)
{
	lloyd_enter(lloyd, w);
}

static void work(void *lloyd, struct worker *w)
{
	lloyd_work(lloyd, w);
}

struct job {
	struct problem problem;
	enum prune prune;
	struct kept kept;
	bool fits;
};

/* Twice, since each lloyd_work() begins anew. */
static int solve(struct team *team, void *argument)
{
	struct job *job = argument;
	const struct place here = { sched_getcpu(), 0 };
	struct place place[MOST_THREADS];
	struct arena *arena;
	struct lloyd *lloyd;
	unsigned culprit;

	for (unsigned i = 0; i < MOST_THREADS; i++)
		place[i] = here;
	if (team_seat(team, place, job->problem.threads, &culprit))
		return -1;
	job->problem.team = team;
	arena = arena_open(machine);
	assert_non_null(arena);
	lloyd = lloyd_open(&job->problem, job->prune, arena);
	job->fits = lloyd || errno != EINVAL;
	if (!lloyd) {
		arena_close(arena);
		return job->fits ? -1 : 0;
	}
	team_run(team, enter, lloyd);
	team_run(team, work, lloyd);
	team_run(team, work, lloyd);
	job->kept = keep(lloyd_solution(lloyd), &job->problem);
	lloyd_close(lloyd);
	arena_close(arena);
	return 0;
}

static struct job run(const struct given *g, enum prune prune, unsigned threads,
		      uint64_t iterations)
{
	struct job job = { .problem = g->problem, .prune = prune };

	job.problem.threads = threads;
	job.problem.iterations = iterations;
	assert_int_equal(team_open(threads, solve, &job), 0);
	return job;
}

/* In long double, whose range holds the square of any double. */
static long double square_distance(const double *a, const double *b, unsigned d)
{
	long double square = 0;

	for (unsigned j = 0; j < d; j++)
		square += ((long double)a[j] - b[j]) * ((long double)a[j] - b[j]);
	return square;
}

/* A label may differ from the plain one's only where the point's own distances are equal. */
static void labels_are_right(const struct given *g, const struct kept *s)
{
	const unsigned d = g->problem.points.d;

	for (size_t i = 0; i < g->problem.points.n; i++) {
		long double least = INFINITY, own = 0;

		assert_true(s->label[i] < g->problem.k);
		for (unsigned c = 0; c < g->problem.k; c++) {
			const long double square =
				square_distance(g->x + i * d, s->from + (size_t)c * d, d);

			least = fminl(least, square);
			own = c == s->label[i] ? square : own;
		}
		if (own > least * (1 + (d + 4) * DBL_EPSILON))
			fail_msg(PROBLEM "point %zu is at %.17Lg from %u, but %.17Lg is possible",
				 SAID(g), i, own, s->label[i], least);
	}
}

static void centres_are_right(const struct given *g, const struct kept *s, double bulk)
{
	const unsigned d = g->problem.points.d, k = g->problem.k;
	long double *sum = calloc((size_t)k * d, sizeof(*sum));
	uint64_t *count = calloc(k, sizeof(*count));
	double *largest = calloc((size_t)k * d, sizeof(*largest)), most = 0;

	for (size_t i = 0; i < g->problem.points.n; i++) {
		count[s->label[i]]++;
		for (unsigned j = 0; j < d; j++) {
			const size_t at = s->label[i] * d + j;

			sum[at] += g->x[i * d + j];
			largest[at] = fmax(largest[at], fabs(g->x[i * d + j]));
			most = fmax(most, fabs(g->x[i * d + j]));
		}
	}
	for (unsigned c = 0; c < k; c++) {
		assert_int_equal(count[c], s->count[c]);
		for (unsigned j = 0; j < d; j++) {
			const double is = s->centre[(size_t)c * d + j];
			const double was = s->from[(size_t)c * d + j];
			const double mean =
				count[c] ? (double)(sum[(size_t)c * d + j] / count[c]) : was;

			/*
			 * of floats: those that are relative to the origin were rounded; `bulk`: of
			 * most points, where some lie far out
			 */
			const double eps = g->problem.points.real == REAL_FLOAT ? FLT_EPSILON
										: 0x1p-46,
				     off = bulk > 0 ? fmax(largest[(size_t)c * d + j], 64 * bulk)
						    : most;

			if (count[c] ? fabs(is - mean) > eps * off : is != was)
				fail_msg(PROBLEM "centre %u has %.17g in dimension %u, but %.17g "
						 "is the mean",
					 SAID(g), c, is, j, mean);
		}
	}
	free(sum);
	free(count);
	free(largest);
}

/* Each iteration begins with what the one before it ended with: so all are right if each is. */
static void test_each_iteration_is_a_plain_one(void **state)
{
	(void)state;
	for (uint64_t seed = 0; seed < cases(CASES); seed++) {
		struct given g = random_problem(seed);
		const size_t row = g.problem.points.d * sizeof(double);
		double *centre = copy(g.start, g.problem.k * row);

		for (uint64_t iterations = 1; iterations < 5; iterations++) {
			struct job job = run(&g, PRUNE_NONE, 1, iterations);

			assert_int_equal(job.kept.iterations, iterations);
			assert_int_equal(job.kept.distances,
					 iterations * g.problem.points.n * g.problem.k);
			assert_memory_equal(job.kept.from, centre, g.problem.k * row);
			labels_are_right(&g, &job.kept);
			centres_are_right(&g, &job.kept, 0);
			memcpy(centre, job.kept.centre, g.problem.k * row);
			drop(&job.kept);
		}
		free(centre);
		forget(&g);
	}
}

static void are_same(const struct given *g, const struct kept *a, const struct kept *b,
		     enum prune prune, unsigned threads)
{
	const size_t row = g->problem.points.d * sizeof(double);

	if (a->iterations != b->iterations ||
	    memcmp(a->label, b->label, g->problem.points.n * sizeof(*a->label)) ||
	    memcmp(a->from, b->from, g->problem.k * row) ||
	    memcmp(a->centre, b->centre, g->problem.k * row) ||
	    memcmp(a->count, b->count, g->problem.k * sizeof(*a->count)))
		fail_msg(PROBLEM "pruning %u on %u threads gives another result", SAID(g), prune,
			 threads);
}

/* A kind of pruning that does not fit the problem is not tried; only cells and filter don't. */
static void any_way_gives_the_same(const struct given *g, uint64_t iterations)
{
	struct job plain = run(g, PRUNE_NONE, 1, iterations);

	for (unsigned prune = PRUNE_AUTO; prune <= PRUNE_BOXES; prune++) {
		/*
		 * One number of threads for each seed, so that each kind of data meets all of them
		 * over the seeds: on one CPU, threads wait for each other most of the time.
		 */
		const unsigned threads =
			1 + (unsigned)(g->seed + g->seed / LENGTH(kinds) + prune) % MOST_THREADS;
		struct job job = run(g, prune, threads, iterations);

		assert_true(job.fits || prune == PRUNE_CELLS ||
			    (prune == PRUNE_FILTER && g->problem.points.real == REAL_FLOAT));
		if (!job.fits)
			continue;
		are_same(g, &plain.kept, &job.kept, prune, threads);
		/* with few points, those from the middles of cells, balls and boxes come on top */
		assert_true(job.kept.distances <= job.kept.iterations * g->problem.points.n *
							  (prune >= PRUNE_BALLS ? 4 : 2) *
							  g->problem.k);
		drop(&job.kept);
	}
	drop(&plain.kept);
}

static void test_pruning_and_threads_change_nothing(void **state)
{
	(void)state;
	for (uint64_t seed = 0; seed < cases(CASES); seed++) {
		struct given g = random_problem(seed);

		any_way_gives_the_same(&g, seed % 3 ? 0 : 1 + seed % 7);
		forget(&g);
	}
}

#define CLUSTERS_WIDE 6 /* half of what the start centres cover below */

/*
 * Clusters 1 apart, from some place on, and points far out: one, in all or in one dimension, or
 * three; or a start centre alone.
 */
static struct given problem_with_outlier(uint64_t seed, double size, double place)
{
	enum { POINTS = 120, CENTRES = 12 };
	struct dice dice = { seed, 0 };
	const unsigned d = 1 + (unsigned)seed % 4, how = (unsigned)(seed / 4 % 4);
	double *x = malloc(sizeof(*x) * POINTS * d), *start = malloc(sizeof(*start) * CENTRES * d);
	struct given g;

	for (size_t e = 0; e < (size_t)POINTS * d; e++)
		x[e] = place + (double)(e / d % CENTRES) + 0.1 * uniform(&dice);
	for (size_t e = 0; e < (size_t)CENTRES * d; e++)
		start[e] = x[e];
	for (size_t i = 50; i < (how == 2 ? 53 : how == 3 ? 50 : 51); i++)
		for (unsigned j = 0; j < (how == 1 ? 1 : d); j++)
			x[i * d + j] = (i % 2 ? -1 : 1) * size * (1 + (double)(i % 3));
	for (unsigned j = 0; how == 3 && j < d; j++)
		start[5 * d + j] = size;
	g = problem_of(size < 1e37 && seed & 1 ? REAL_FLOAT : REAL_DOUBLE, POINTS, d, CENTRES, x,
		       start);
	g.kind = "outlier";
	g.seed = seed;
	return g;
}

static void outlier_hides_nothing(const struct given *g)
{
	for (unsigned prune = PRUNE_AUTO; prune <= PRUNE_BOXES; prune++)
		for (uint64_t iterations = 1; iterations < 4; iterations++) {
			struct job job = run(g, prune, 1 + (prune + g->seed) % 2, iterations);

			if (!job.fits)
				continue;
			labels_are_right(g, &job.kept);
			centres_are_right(g, &job.kept, CLUSTERS_WIDE);
			drop(&job.kept);
		}
}

static void test_points_far_out_hide_nothing(void **state)
{
	static const double place[] = { 0, 1, -1000, 1e5 };
	uint64_t seed = 0;

	(void)state;
	for (int exponent = 0; exponent <= 306; exponent += exponent < 40 ? 2 : 19, seed++) {
		struct given g = problem_with_outlier(seed * 5 + seed / 4, pow(10, exponent),
						      place[seed % LENGTH(place)]);

		outlier_hides_nothing(&g);
		forget(&g);
	}
}

/*
 * Large enough for blocks, cells and bounds that small problems never fill; clustered, so that
 * something can be pruned.
 */
static struct given larger_problem(uint64_t seed, double shift)
{
	static const unsigned dimensions[] = { 1, 2, 3, 4, 8, 17 };
	struct dice dice = { seed, 0 };
	const unsigned d = dimensions[seed % LENGTH(dimensions)], k = 20 + below(&dice, 120);
	/* also as many as fill pages, and blocks of some sizes but not of others */
	const size_t n = seed % 4 == 3 ? 4096 : 4000 + below(&dice, 3000);
	double *x = malloc(n * d * sizeof(*x)), *start = malloc((size_t)k * d * sizeof(*start));
	struct given g;

	assert_non_null(x);
	assert_non_null(start);
	/* multiples of 2^-20, so that they can be shifted and stay what they are */
	for (size_t e = 0; e < n * d; e++)
		x[e] = floor(clustered(&dice, e / d, (unsigned)(e % d)) * 0x1p20) * 0x1p-20 + shift;
	for (unsigned c = 0; c < k; c++)
		memcpy(start + (size_t)c * d, x + below(&dice, (unsigned)n) * d, d * sizeof(*x));
	g = problem_of(seed % 4 == 3 && !shift ? REAL_FLOAT : REAL_DOUBLE, n, d, k, x, start);
	g.kind = "larger";
	g.seed = seed;
	return g;
}

static void test_of_many_points_too(void **state)
{
	(void)state;
	for (uint64_t seed = 0; seed < cases(8); seed++) {
		struct given g = larger_problem(seed, 0);

		any_way_gives_the_same(&g, seed % 2 ? 0 : 9);
		forget(&g);
	}
}

static void test_what_is_far_from_zero_loses_nothing(void **state)
{
	(void)state;
	for (uint64_t seed = 0; seed < cases(4); seed++) {
		struct given g = larger_problem(seed, 0), far = larger_problem(seed, 1e6);
		struct job here = run(&g, PRUNE_AUTO, 2, 12), there = run(&far, PRUNE_AUTO, 2, 12);

		if (g.problem.points.real == REAL_DOUBLE) {
			assert_memory_equal(here.kept.label, there.kept.label,
					    g.problem.points.n * sizeof(uint32_t));
			for (size_t e = 0; e < (size_t)g.problem.k * g.problem.points.d; e++)
				/* the last bit at 1e6 is 1e-10 */
				assert_true(fabs(there.kept.centre[e] - 1e6 - here.kept.centre[e]) <
					    1e-9);
		}
		drop(&here.kept);
		drop(&there.kept);
		forget(&g);
		forget(&far);
	}
}

/* Cells number the points of a rank in 32 bits, other methods those of a thread. */
static void test_of_more_points_than_a_method_can_count(void **state)
{
	struct problem p = { .points = { .real = REAL_FLOAT, .n = (size_t)1 << 33, .d = 1 },
			     .all = (size_t)1 << 33,
			     .k = 4,
			     .threads = 1,
			     .iterations = 100 };

	(void)state;
	assert_int_equal(lloyd_bytes(&p, PRUNE_CELLS), 0);
	assert_int_equal(lloyd_bytes(&p, PRUNE_BALLS), 0);
	assert_int_equal(lloyd_bytes(&p, PRUNE_BOXES), 0);
	assert_true(lloyd_bytes(&p, PRUNE_AUTO) > 0);
	p.threads = 3;
	assert_int_equal(lloyd_bytes(&p, PRUNE_CELLS), 0);
	assert_true(lloyd_bytes(&p, PRUNE_BALLS) > 0);
	assert_true(lloyd_bytes(&p, PRUNE_BOXES) > 0);
	assert_int_equal(method_boxes.row(&p), 0); /* places among all points have 32 bits */
	p.threads = 1;
	p.points.n = p.all = (size_t)1 << 31;
	assert_true(lloyd_bytes(&p, PRUNE_CELLS) > 0);
}

/* PRUNE_AUTO is never refused for its memory if PRUNE_NONE fits: it prunes less. */
static void test_of_less_room_than_pruning_needs(void **state)
{
	struct problem p = { .points = { .real = REAL_DOUBLE, .n = 100000, .d = 32 },
			     .all = 100000,
			     .k = 4000,
			     .threads = 2 };
	const size_t automatic = lloyd_bytes(&p, PRUNE_AUTO), none = lloyd_bytes(&p, PRUNE_NONE),
		     bounds = lloyd_bytes(&p, PRUNE_BOUNDS);
	static const char *const fits[] = { "boxes", "filter", "brute" };

	(void)state;
	assert_true(none < automatic);
	p.room = automatic;
	assert_int_equal(lloyd_bytes(&p, PRUNE_AUTO), automatic);
	for (unsigned i = 0; i < LENGTH(fits); i++) {
		p.room = (size_t[]){ automatic - 1, none, 1 }[i];
		if (i)
			assert_int_equal(lloyd_bytes(&p, PRUNE_AUTO), none);
		else
			assert_true(lloyd_bytes(&p, PRUNE_AUTO) <= p.room);
		assert_int_equal(lloyd_bytes(&p, PRUNE_BOUNDS), bounds);
		assert_string_equal(choice_make(&p, PRUNE_AUTO).method[0]->name, fits[i]);
	}
}

/* In two dimensions there are cells, followed by bounds or, without room, by less pruning. */
static void test_of_less_room_than_what_follows_needs(void **state)
{
	struct problem p = { .points = { .real = REAL_DOUBLE, .n = 100000, .d = 2 },
			     .all = 100000,
			     .k = 3000,
			     .threads = 1 };
	const size_t automatic = lloyd_bytes(&p, PRUNE_AUTO);

	(void)state;
	p.room = automatic - 1;
	assert_true(lloyd_bytes(&p, PRUNE_AUTO) < automatic &&
		    lloyd_bytes(&p, PRUNE_AUTO) >= lloyd_bytes(&p, PRUNE_CELLS));
	assert_string_equal(choice_make(&p, PRUNE_AUTO).method[0]->name, "cells");
}

/* Of points in a lump, far from another point, floats decide nothing: most are left to doubles. */
static void test_the_filter_stops_where_floats_decide_nothing(void **state)
{
	enum { POINTS = 20000, CENTRES = 64, D = 4, ITERATIONS = 2 };
	struct dice dice = { 5, 0 };
	double *x = malloc(sizeof(*x) * POINTS * D), *start = malloc(sizeof(*start) * CENTRES * D);
	struct given g;
	struct job plain, automatic;

	(void)state;
	assert_non_null(x);
	assert_non_null(start);
	for (size_t i = 0; i < POINTS * D; i++)
		x[i] = i < D ? -9 : 9 + 1e-6 * uniform(&dice);
	memcpy(start, x + D, sizeof(*start) * CENTRES * D);
	g = problem_of(REAL_DOUBLE, POINTS, D, CENTRES, x, start);
	plain = run(&g, PRUNE_NONE, 1, ITERATIONS);
	automatic = run(&g, PRUNE_AUTO, 1, ITERATIONS);
	are_same(&g, &plain.kept, &automatic.kept, PRUNE_AUTO, 1);
	/* a distance in float counts as half, and comes on top */
	assert_true(automatic.kept.distances > plain.kept.distances);
	assert_true((double)automatic.kept.distances < 1.05 * (double)plain.kept.distances);
	drop(&plain.kept);
	drop(&automatic.kept);
	forget(&g);
}

/* A method on one share, without the rest. */
struct alone {
	struct frame frame;
	struct share s;
	struct joint joint;
	void *memory, *spare;
	double *given, *scratch; /* k and one row of d */
};

/* The box of the points is low..high in each dimension. */
static struct alone *alone_begin(const struct method *method, const struct given *g, double low,
				 double high)
{
	const unsigned d = g->problem.points.d, k = g->problem.k;
	const size_t n = g->problem.points.n;
	struct alone *a = apart_alloc(sizeof(*a));
	struct carver none = { .memory = NULL }, carver = none, spare = none;

	exact_carve(&spare, d, k);
	a->spare = spare.memory = apart_alloc(spare.used);
	spare.used = 0;
	frame_lay_out(&a->frame, &none, &g->problem);
	a->memory = carver.memory = apart_alloc(none.used);
	frame_lay_out(&a->frame, &carver, &g->problem);
	for (unsigned j = 0; j < d; j++) {
		a->frame.low[j] = low;
		a->frame.high[j] = high;
	}
	a->given = calloc((size_t)k * d, sizeof(*a->given));
	a->scratch = malloc(d * sizeof(*a->scratch));
	frame_begin(&a->frame, &g->problem, a->given, a->scratch);
	a->joint = (struct joint){ .points = n, .share = &a->s, .workers = 1 };
	a->s = (struct share){ .n = n,
			       .x = g->problem.points.x,
			       .joint = &a->joint,
			       .scratch = exact_carve(&spare, d, k),
			       .memory = apart_alloc(method->bytes(&g->problem, n)),
			       .change = sums_at(malloc(sums_length(d, k) * sizeof(int64_t)), d, k),
			       .label = malloc(n * sizeof(*a->s.label)) };
	method->build(&a->s, &a->frame.stage);
	return a;
}

static void alone_assign(struct alone *a, const struct method *method, uint64_t iteration)
{
	a->frame.stage.iteration = iteration;
	sums_clear(&a->s.change);
	method->assign(&a->s, &a->frame.stage);
}

/* The labels of a method and, of the same problem, of brute force are the same. */
static void assign_as_brute(struct alone *a, const struct method *method, struct alone *plain,
			    uint64_t iteration)
{
	alone_assign(a, method, iteration);
	alone_assign(plain, &method_brute, iteration);
	method->labels(&a->s, &a->frame.stage);
	method_brute.labels(&plain->s, &plain->frame.stage);
	assert_memory_equal(a->s.label, plain->s.label, a->s.n * sizeof(*a->s.label));
}

static void alone_end(struct alone *a)
{
	free(a->s.change.sum);
	free(a->s.memory);
	free(a->s.label);
	free(a->memory);
	free(a->spare);
	free(a->given);
	free(a->scratch);
	free(a);
}

/* What bounds cost in an iteration on top of brute force, in cycles, by their assumed costs. */
static double cost_on_top(const struct bounds *b, const bool *before, size_t n)
{
	double cost = 0;

	for (size_t first = 0, c = 0; first < n; first += b->chunk, c++) {
		const size_t points = n - first < b->chunk ? n - first : b->chunk;

		if (b->bounded[c])
			cost += (double)points *
				(b->costs.bound + (before[c] ? b->costs.suspect : 0));
	}
	return cost;
}

/* Where all centres move far, bounds save nothing. */
static void trying_bounds_costs_little(enum real real, size_t n, unsigned d, unsigned k)
{
	enum { ITERATIONS = 10 };
	struct dice dice = { n, 0 };
	double *x = malloc(n * d * sizeof(*x)), *start = malloc((size_t)k * d * sizeof(*start)),
	       cost = 0, otherwise;
	bool *before = malloc(n);
	const struct bounds *b;
	struct alone *a;
	struct given g;

	for (size_t e = 0; e < n * d; e++)
		x[e] = uniform(&dice);
	memcpy(start, x, (size_t)k * d * sizeof(*start));
	g = problem_of(real, n, d, k, x, start);
	a = alone_begin(&method_bounds, &g, 0, 1);
	b = a->s.memory;
	otherwise = ITERATIONS * (double)n * b->costs.all / (b->filters ? 2 : 1);
	for (unsigned i = 0; i < ITERATIONS; i++) {
		for (unsigned c = 0; c < k; c++)
			a->frame.moved[c] = i ? 10 : 0;
		memcpy(before, b->bounded, (n + b->chunk - 1) / b->chunk);
		alone_assign(a, &method_bounds, i);
		cost += cost_on_top(b, before, n);
	}
	cost += b->grouped ? k * b->costs.choose : 0;
	if (cost > 0.05 * otherwise)
		fail_msg("%zu x %u, k=%u, %s: trying bounds costs %.3f of brute force", n, d, k,
			 real == REAL_FLOAT ? "float" : "double", cost / otherwise);
	alone_end(a);
	free(before);
	forget(&g);
}

enum { MANY = 700 };

/* Of a point from a row that is relative. */
static double distance_from(const struct given *g, const struct frame *f, size_t i, const void *row)
{
	const unsigned d = g->problem.points.d;
	double square = 0;

	for (unsigned j = 0; j < d; j++) {
		const double unit = real_get(f->stage.real, f->origin, d),
			     x = (g->x[i * d + j] - real_get(f->stage.real, f->origin, j)) * unit,
			     at = real_get(f->stage.real, row, j);

		square += (x - at) * (x - at);
	}
	return sqrt(square);
}

static double distance(const struct given *g, const struct frame *f, size_t i, unsigned c)
{
	return distance_from(g, f, i, centre_of(&f->stage, c));
}

/* The error of distance(). */
static double off(const struct frame *f)
{
	return f->stage.real == REAL_FLOAT ? 1e-6 : 1e-13;
}

/* Of the points that have bounds: they are bounds. Returns how many have. */
static size_t check_bounds(const struct given *g, const struct frame *f, const void *memory)
{
	const struct bounds *b = memory;
	size_t checked = 0;

	for (size_t i = 0; i < g->problem.points.n; i++) {
		if (!b->bounded[i / b->chunk])
			continue;
		checked++;
		for (unsigned c = 0; c < g->problem.k; c++) {
			const unsigned group = b->place[c] / b->tiles->group;
			const double way = distance(g, f, i, c);

			if (c == b->label[i]) {
				assert_true(b->upper[i] >= way * (1 - off(f)));
				continue;
			}
			assert_true(b->lower[i] <= way * (1 + off(f)));
			assert_true((double)b->group[i * b->groups + group] - b->drift[group] <=
				    way * (1 + off(f)));
		}
	}
	return checked;
}

/* What is listed by a ball, or all if nothing is. */
static bool is_listed(const struct ball *b, unsigned c)
{
	bool listed = b->listed == 0;

	for (unsigned i = 0; i < b->listed; i++)
		listed |= b->list[i] == c;
	return listed;
}

/* How a ball bounds one of its points. Returns whether there is a bound. */
static bool check_ball(const struct given *g, const struct frame *f, const struct balls *x,
		       const struct ball *b, uint32_t point)
{
	const size_t i = x->points.point[point];
	const uint32_t label = x->points.label[point];
	const double none = 10 * off(f), own = distance(g, f, i, label);

	assert_true(distance_from(g, f, i, x->middle + (b - x->ball) * row_bytes(&f->stage)) <=
		    (double)b->radius);
	if (b->listed)
		assert_true(distance(g, f, i, b->nearest) >= own - none && own <= (double)b->upper);
	for (unsigned c = 0; c < g->problem.k; c++) {
		const double way = distance(g, f, i, c);

		if (!is_listed(b, c))
			assert_true(way - distance(g, f, i, b->nearest) >= (double)b->room - none);
		if (b->own && c != label)
			assert_true(way - own >= (double)x->room[point] - none);
	}
	return b->own ? x->room[point] > 0 : b->listed > 0 && b->room > 0;
}

/* The balls have all points; they hold those; room is what is left to other centres. */
static size_t check_balls(const struct given *g, const struct frame *f, const void *memory)
{
	const struct balls *x = memory;
	size_t checked = 0, points = 0;

	if (!x->points.done)
		return 0;
	for (const struct ball *b = x->ball; b < x->ball + x->balls; b++) {
		points += b->n;
		for (uint32_t i = b->first; i < b->first + b->n; i++)
			checked += check_ball(g, f, x, b, x->order[i]);
	}
	assert_int_equal(points, g->problem.points.n);
	return checked;
}

/* Whether n coordinates are within `extent` of the middle, and that is no more than needed. */
static void is_within(const struct box *b, const float *low, const float *high, unsigned d)
{
	for (unsigned j = 0; j < d; j++) {
		assert_true(low[j] >= b->middle[j] - b->extent[j] * (1 + 0x1p-20F) - 0x1p-24F);
		assert_true(high[j] <= b->middle[j] + b->extent[j] * (1 + 0x1p-20F) + 0x1p-24F);
		assert_true(b->extent[j] <= (high[j] - low[j]) * 0.51F + 0x1p-20F);
	}
}

/* The corners of a box's points, which must be those of its places, and have its block's values. */
static void corners_of(const struct boxes *x, const struct share *s, const struct stage *g,
		       const struct box *b, float *low, float *high)
{
	const unsigned d = g->d, lanes = x->rough.floats->block;

	for (uint32_t i = 0; i < b->n; i++)
		for (unsigned j = 0; j < d; j++) {
			const size_t point = x->points.point[b->first + i];
			const float value = (float)((real_get(g->real, s->x, point * d + j) -
						     real_get(g->real, g->origin, j)) *
						    real_get(g->real, g->origin, d)),
				    *block = x->block + (size_t)(b - x->box) * FULL * d +
					     i / lanes * lanes * d;

			assert_true(block[j * lanes + i % lanes] == value);
			low[j] = i ? smaller_of(low[j], value) : value;
			high[j] = i ? larger_of(high[j], value) : value;
		}
}

/* Each point is in one box, which holds it, and each box in one branch, which holds that. */
static size_t check_all_boxes(const struct share *s, const struct stage *g)
{
	const struct boxes *x = s->memory;
	float low[64], high[64], least[64], most[64];
	uint32_t box = 0, place = 0;
	bool *seen;

	if (!x->points.done)
		return 0;
	seen = calloc(s->n, sizeof(*seen));
	assert_non_null(seen);
	for (size_t i = 0; i < s->n; i++) {
		assert_false(seen[x->points.point[i]]);
		seen[x->points.point[i]] = true;
	}
	for (const struct box *h = x->branch; h < x->branch + x->branches; h++) {
		assert_int_equal(h->first, box);
		assert_in_range(h->n, 1, SIBLINGS);
		for (; box < h->first + h->n; box++) {
			const struct box *b = &x->box[box];

			assert_int_equal(b->first, place);
			assert_in_range(b->n, 1, FULL);
			place += b->n;
			corners_of(x, s, g, b, low, high);
			is_within(b, low, high, g->d);
			for (unsigned j = 0; j < g->d; j++) {
				least[j] = box > h->first ? smaller_of(least[j], low[j]) : low[j];
				most[j] = box > h->first ? larger_of(most[j], high[j]) : high[j];
			}
		}
		is_within(h, least, most, g->d);
	}
	assert_int_equal(box, x->boxes);
	assert_int_equal(place, s->n);
	free(seen);
	return s->n;
}

/*
 * Bounds made and used in iterations with small moves and some large ones. Every ninth centre is
 * nearer to the first than a float can tell, so in groups by number each has its own; and two are
 * at the same place. Labels are those of brute force. Points spread about centres.
 */
static void bounds_hold(const struct method *method, bool forced_always, double spread, size_t n,
			size_t (*check)(const struct given *, const struct frame *, const void *))
{
	for (unsigned turn = 0; turn < 12; turn++) {
		const enum real real = turn & 1 ? REAL_FLOAT : REAL_DOUBLE;
		const unsigned d = turn & 2 ? 5 : 20;
		const bool forced = forced_always || turn >= 8;
		const unsigned k = turn < 4 ? 128 : 32;
		struct dice dice = { turn, 0 };
		double *x = malloc(sizeof(*x) * n * d), *start = malloc(sizeof(*start) * k * d);
		struct alone *a, *plain;
		struct given g;
		size_t checked = 0;

		for (size_t e = 0; e < (size_t)k * d; e++) {
			const size_t c = e / d;

			start[e] = c > 0 && c % 9 == 0 && c < 81
					   ? start[e % d] + 1e-9 * uniform(&dice)
				   : c == 17 ? start[e - d]
					     : uniform(&dice);
		}
		for (size_t e = 0; e < n * d; e++)
			x[e] = start[e / d % k * d + e % d] + spread * (uniform(&dice) - 0.5);
		g = problem_of(real, n, d, k, x, start);
		a = alone_begin(method, &g, -2 * spread, 1 + 2 * spread);
		plain = alone_begin(&method_brute, &g, -2 * spread, 1 + 2 * spread);
		a->frame.stage.forced = forced;
		if (method == &method_bounds) {
			struct bounds *b = a->s.memory;

			b->on = b->proven = true;
		}
		for (unsigned i = 0; i < 8; i++) {
			assign_as_brute(a, method, plain, i);
			checked += check ? check(&g, &a->frame, a->s.memory)
					 : check_all_boxes(&a->s, &a->frame.stage);
			for (unsigned c = 0; c < k; c++) {
				const double far = c % 9 == 0 || c == 16 || c == 17 ? 0
						   : c % 16 == i		    ? 0.2
										    : 0.001;

				for (unsigned j = 0; j < d; j++)
					a->scratch[j] =
						a->given[c * d + j] + far * (uniform(&dice) - 0.5);
				a->frame.moved[c] = frame_put_centre(&a->frame, c, a->scratch);
				frame_put_centre(&plain->frame, c, a->scratch);
			}
		}
		assert_true(checked >= n);
		alone_end(a);
		alone_end(plain);
		forget(&g);
	}
}

static void test_bounds_are_bounds(void **state)
{
	(void)state;
	bounds_hold(&method_bounds, false, 0.05, MANY, check_bounds);
}

static void test_room_of_balls_is_a_bound(void **state)
{
	(void)state;
	bounds_hold(&method_balls, true, 0.1, MANY, check_balls);
	bounds_hold(&method_balls, true, 0.8, MANY, check_balls);
	/* so many that planes are looked at */
	bounds_hold(&method_balls, true, 0.2, 3 * MANY, check_balls);
}

static void test_boxes_leave_out_none_that_is_nearest(void **state)
{
	(void)state;
	bounds_hold(&method_boxes, true, 0.1, MANY, NULL);
	bounds_hold(&method_boxes, true, 0.8, MANY, NULL);
	bounds_hold(&method_boxes, true, 0.02, 3 * MANY, NULL);
}

/*
 * Two points at opposite corners of a box, a centre near its middle, and one as far from the first
 * corner on the other side: only rounding tells which is nearer to that.
 */
static void test_a_tie_at_the_corner_of_a_box_is_seen(void **state)
{
	enum { CENTRES = 2, POINTS = 2, D = 3 };
	const unsigned trials = getenv("LOCUS_EMULATED") ? 500 : 3000;
	unsigned others = 0;

	(void)state;
	for (unsigned trial = 0; trial < 2 * trials; trial++) {
		struct dice dice = { trial / 2, 0 };
		double *x = malloc(sizeof(*x) * POINTS * D),
		       *start = malloc(sizeof(*start) * CENTRES * D);
		struct alone *a, *plain;
		struct given g;

		/*
		 * Multiples of 2^-12, which floats hold. The box is small, and the centre about as
		 * far from its middle as that from 0: so what bounds have on top, as a part of a
		 * gain and of a score, is less than rounding.
		 */
		for (unsigned j = 0; j < D; j++) {
			x[j] = ((double)below(&dice, 8192) - 4096) / 4096;
			x[D + j] = x[j] - ((double)below(&dice, 17) - 8) / 4096;
			start[D + j] = (below(&dice, 2) ? x[j] + x[D + j] : 0) +
				       (double)below(&dice, 3) / 4096;
			start[j] = 2 * x[j] - start[D + j];
		}
		g = problem_of(trial & 1 ? REAL_FLOAT : REAL_DOUBLE, POINTS, D, CENTRES, x, start);
		a = alone_begin(&method_boxes, &g, -4, 4);
		plain = alone_begin(&method_brute, &g, -4, 4);
		a->frame.stage.forced = true;
		assign_as_brute(a, &method_boxes, plain, 0);
		others += plain->s.label[0] == 0 && plain->s.label[1] == 1;
		alone_end(a);
		alone_end(plain);
		forget(&g);
	}
	assert_true(others > trials / 4);
}

/*
 * Centres of a grid in the plane, of which two at a time go astray: only the branches of boxes near
 * these are looked at.
 */
static void test_boxes_stay_where_nothing_moves(void **state)
{
	enum { SIDE = 12, CENTRES = SIDE * SIDE, POINTS = 60000, D = 2 };

	(void)state;
	for (unsigned turn = 0; turn < 2; turn++) {
		const enum real real = turn ? REAL_FLOAT : REAL_DOUBLE;
		struct dice dice = { turn, 0 };
		double *x = malloc(sizeof(*x) * POINTS * D),
		       *start = malloc(sizeof(*start) * CENTRES * D);
		struct alone *a, *plain;
		struct given g;

		for (size_t e = 0; e < POINTS * D; e++)
			x[e] = SIDE * uniform(&dice);
		for (unsigned c = 0; c < CENTRES; c++) {
			const unsigned row = c / SIDE;

			start[c * D] = c % SIDE + 0.5;
			start[c * D + 1] = row + 0.5;
		}
		g = problem_of(real, POINTS, D, CENTRES, x, start);
		a = alone_begin(&method_boxes, &g, 0, SIDE);
		plain = alone_begin(&method_brute, &g, 0, SIDE);
		a->frame.stage.forced = true;
		for (unsigned i = 0; i < 12; i++) {
			assign_as_brute(a, &method_boxes, plain, i);
			/* 20,000 are of the branches' middles; all points had 150,000 more */
			if (i)
				assert_true(((struct boxes *)a->s.memory)->rough.scores < POINTS);
			for (unsigned c = 0; c < CENTRES; c++) {
				a->frame.moved[c] = 0;
				if (c % 61 != 5 * i % 61)
					continue;
				for (unsigned j = 0; j < D; j++)
					a->scratch[j] =
						a->given[c * D + j] + 0.2 * (uniform(&dice) - 0.5);
				a->frame.moved[c] = frame_put_centre(&a->frame, c, a->scratch);
				frame_put_centre(&plain->frame, c, a->scratch);
			}
		}
		alone_end(a);
		alone_end(plain);
		forget(&g);
	}
}

/* Value j of point i of n. */
static double value_of_kind(const char *kind, struct dice *dice, size_t i, size_t n, unsigned j)
{
	switch (kind[0]) {
	case 'e': /* equal */
		return j;
	case 't': /* two places */
		return (double)(i * 7 % 11 < 5);
	case 's': /* sorted */
		return (double)i + j;
	case 'o': /* organ pipes */
		return (double)(i < n / 2 ? i : n - i);
	case 'l': /* a lump, and one far away */
		return i ? 1e-9 * uniform(dice) : 1;
	default:
		return uniform(dice);
	}
}

static void test_boxes_hold_all_points(void **state)
{
	static const char *const kinds_of_points[] = { "equal",	      "two places", "sorted",
						       "organ pipes", "lump",	    "uniform" };
	enum { CENTRES = 3 };

	(void)state;
	for (unsigned turn = 0; turn < 24; turn++) {
		const char *kind = kinds_of_points[turn % LENGTH(kinds_of_points)];
		const enum real real = turn & 1 ? REAL_DOUBLE : REAL_FLOAT;
		const unsigned d = turn < 12 ? 1 : 9;
		const size_t n = turn % 12 < 6 ? 33000 + turn : 97 + turn;
		struct dice dice = { turn, 0 };
		double *x = malloc(sizeof(*x) * n * d),
		       *start = malloc(sizeof(*start) * CENTRES * d);
		double low = INFINITY, high = -INFINITY;
		struct alone *a, *plain;
		struct given g;

		for (size_t e = 0; e < n * d; e++) {
			x[e] = value_of_kind(kind, &dice, e / d, n, (unsigned)(e % d));
			low = fmin(low, x[e]);
			high = fmax(high, x[e]);
		}
		for (unsigned e = 0; e < CENTRES * d; e++)
			start[e] = x[e / d * (n / 4) * d + e % d];
		g = problem_of(real, n, d, CENTRES, x, start);
		a = alone_begin(&method_boxes, &g, low, high);
		plain = alone_begin(&method_brute, &g, low, high);
		a->frame.stage.forced = true;
		assign_as_brute(a, &method_boxes, plain, 0);
		assert_int_equal(check_all_boxes(&a->s, &a->frame.stage), n);
		alone_end(a);
		alone_end(plain);
		forget(&g);
	}
}

/*
 * A centre arrives at just less than twice the distance of points from theirs: it is nearer. With a
 * spread, it is to some of them.
 */
static void rival_is_seen(const struct method *method, double spread)
{
	enum { POINTS = 40, CENTRES = 17, LATE = 5 }; /* one more than a group has */
	static const double ahead[] = { 1e-1, 1e-2, 1e-3, 1e-4, -1e-2 };

	for (unsigned turn = 0; turn < 2 * LENGTH(ahead); turn++) {
		const enum real real = turn & 1 ? REAL_FLOAT : REAL_DOUBLE;
		const double there = 2 * (1 - ahead[turn / 2]);
		double *x = malloc(sizeof(*x) * POINTS), *start = malloc(sizeof(*start) * CENTRES);
		struct alone *a, *plain;
		struct given g;

		for (unsigned i = 0; i < POINTS; i++)
			x[i] = 1 + spread * i / POINTS;
		for (unsigned c = 0; c < CENTRES; c++)
			start[c] = c ? c * 0.01 - 1 : 0; /* as near, on the other side */
		g = problem_of(real, POINTS, 1, CENTRES, x, start);
		a = alone_begin(method, &g, -8, 8);
		plain = alone_begin(&method_brute, &g, -8, 8);
		a->frame.stage.forced = true;
		for (uint64_t i = 0; i < 2; i++) {
			alone_assign(a, method, i);
			alone_assign(plain, &method_brute, i);
			method->labels(&a->s, &a->frame.stage);
			method_brute.labels(&plain->s, &plain->frame.stage);
			if (spread <= 0)
				assert_int_equal(plain->s.label[0],
						 i && ahead[turn / 2] > 0 ? LATE : 0);
			assert_memory_equal(a->s.label, plain->s.label,
					    POINTS * sizeof(*plain->s.label));
			a->frame.moved[LATE] = frame_put_centre(&a->frame, LATE, &there);
			frame_put_centre(&plain->frame, LATE, &there);
		}
		alone_end(a);
		alone_end(plain);
		forget(&g);
	}
}

/* Boxes of four threads' points are hardly larger than those of one: points are dealt by place. */
static void test_threads_have_points_that_are_near(void **state)
{
	enum { POINTS = 40000, D = 4, CENTRES = 256, ITERATIONS = 3, THREADS = 4 };
	struct dice dice = { 5, 0 };
	double *x = malloc(sizeof(*x) * POINTS * D), *start = malloc(sizeof(*start) * CENTRES * D);
	struct job one, four;
	struct given g;

	(void)state;
	assert_non_null(x);
	assert_non_null(start);
	for (size_t i = 0; i < POINTS * D; i++)
		x[i] = uniform(&dice);
	memcpy(start, x, sizeof(*start) * CENTRES * D);
	g = problem_of(REAL_DOUBLE, POINTS, D, CENTRES, x, start);
	one = run(&g, PRUNE_BOXES, 1, ITERATIONS);
	four = run(&g, PRUNE_BOXES, THREADS, ITERATIONS);
	are_same(&g, &one.kept, &four.kept, PRUNE_BOXES, THREADS);
	/* as given, 2.1 times as many; dealt, 1.3 times */
	assert_true((double)four.kept.distances < 1.6 * (double)one.kept.distances);
	drop(&one.kept);
	drop(&four.kept);
	forget(&g);
}

static void test_a_rival_at_the_edge_is_seen(void **state)
{
	(void)state;
	rival_is_seen(&method_balls, 0);
	rival_is_seen(&method_balls, 0.2);
	rival_is_seen(&method_boxes, 0);
	rival_is_seen(&method_boxes, 0.2);
}

/*
 * Points on a line, evenly from `low` to `high`, and three centres, the third far away; these move
 * a little, and then to other places.
 */
static void moves_are_seen(const struct method *method, size_t n, double low, double high,
			   const double *before, const double *after)
{
	enum { CENTRES = 3 };

	for (unsigned turn = 0; turn < 2; turn++) {
		const enum real real = turn ? REAL_FLOAT : REAL_DOUBLE;
		double *x = malloc(n * sizeof(*x)), *start = copy(before, CENTRES * sizeof(*start));
		struct alone *a, *plain;
		struct given g;

		for (size_t i = 0; i < n; i++)
			x[i] = low + (high - low) * (double)i / (double)(n - 1);
		g = problem_of(real, n, 1, CENTRES, x, start);
		a = alone_begin(method, &g, -8, 8);
		plain = alone_begin(&method_brute, &g, -8, 8);
		a->frame.stage.forced = true;
		for (uint64_t i = 0; i < 3; i++) {
			assign_as_brute(a, method, plain, i);
			for (unsigned c = 0; c < CENTRES; c++) {
				const double at = (i ? after[c] : before[c]) + 1e-5;

				a->frame.moved[c] = frame_put_centre(&a->frame, c, &at);
				frame_put_centre(&plain->frame, c, &at);
			}
		}
		alone_end(a);
		alone_end(plain);
		forget(&g);
	}
}

static void test_moves_are_seen(void **state)
{
	(void)state;
	/* the second centre is left out by the plane between it and the first */
	moves_are_seen(&method_balls, 1200, -1.5, 1.5, (double[]){ 1, 3.4, 7 },
		       (double[]){ 1, 1.9, 7 });
	/* one centre leaves as the other arrives; each point has room of its own */
	moves_are_seen(&method_balls, 40, -2.5, 0, (double[]){ -1, 1.15, 7 },
		       (double[]){ -1.1, 1.05, 7 });
	moves_are_seen(&method_boxes, 1200, -1.5, 1.5, (double[]){ 1, 3.4, 7 },
		       (double[]){ 1, 1.9, 7 });
}

/* Blobs have few rivals, uniform points of many dimensions have many; a lump has too many ties. */
static void test_methods_give_up_where_they_do_not_pay(void **state)
{
	enum { POINTS = 20000, CENTRES = 256 };
	static const struct {
		const struct method *method;
		const char *kind;
		unsigned d;
		enum real real;
		bool gives_up;
	} cases[] = {
		{ &method_balls, "blobs", 8, REAL_DOUBLE, false },
		{ &method_balls, "blobs", 32, REAL_FLOAT, false },
		{ &method_balls, "uniform", 16, REAL_DOUBLE, true },
		{ &method_balls, "uniform", 8, REAL_FLOAT, true },
		{ &method_balls, "lump", 4, REAL_DOUBLE, true },
		{ &method_boxes, "uniform", 4, REAL_DOUBLE, false },
		{ &method_boxes, "uniform", 4, REAL_FLOAT, false },
		{ &method_boxes, "uniform", 16, REAL_DOUBLE, true },
		{ &method_boxes, "uniform", 16, REAL_FLOAT, true },
		{ &method_boxes, "lump", 4, REAL_DOUBLE, true },
	};

	(void)state;
	for (unsigned i = 0; i < LENGTH(cases); i++) {
		const unsigned d = cases[i].d;
		const bool blobs = cases[i].kind[0] == 'b', lump = cases[i].kind[0] == 'l';
		struct dice dice = { i + 5, 0 };
		double *x = malloc(sizeof(*x) * POINTS * d),
		       *start = malloc(sizeof(*start) * CENTRES * d);
		struct alone *a;
		struct given g;

		for (size_t e = 0; e < (size_t)CENTRES * d; e++)
			start[e] = lump ? 0.9 + 1e-8 * uniform(&dice) : uniform(&dice);
		for (size_t e = 0; e < (size_t)POINTS * d; e++)
			x[e] = blobs  ? start[e / d % CENTRES * d + e % d] + 0.1 * uniform(&dice)
			       : lump ? 0.9 + 1e-8 * uniform(&dice)
				      : uniform(&dice);
		g = problem_of(cases[i].real, POINTS, d, CENTRES, x, start);
		a = alone_begin(cases[i].method, &g, 0, 1.1);
		alone_assign(a, cases[i].method, 0);
		a->frame.stage.iteration = 1;
		if (cases[i].method->gives_up(&a->s, &a->frame.stage) != cases[i].gives_up)
			fail_msg("%s, %s x %u", cases[i].method->name, cases[i].kind, d);
		alone_end(a);
		forget(&g);
	}
}

/*
 * One worker has blobs and goes on with balls, or, if they are wide, with bounds, or it has a
 * curved surface and begins with boxes; another has uniform points and gives up.
 */
static void test_workers_may_prune_differently(void **state)
{
	enum { POINTS = 40000, CENTRES = 256, D = 16 };
	/* emulated: two of the four, 20 s each */
	const unsigned step = getenv("LOCUS_EMULATED") ? 3 : 1, iterations = step > 1 ? 3 : 6;
	struct dice dice = { 7, 0 };

	(void)state;
	for (unsigned turn = 0; turn < 4; turn += step) {
		const double width = turn ? 0.34 : 0.1;
		double *x = malloc(sizeof(*x) * POINTS * D),
		       *start = malloc(sizeof(*start) * CENTRES * D);
		struct job plain, two;
		struct given g;

		for (size_t i = 0; i < POINTS; i++) {
			const double u = uniform(&dice), v = uniform(&dice);

			for (unsigned j = 0; j < D; j++)
				x[i * D + j] = turn >= 2 && i < POINTS / 2
						       ? sin((j * u + (D - j) * v) / D)
						       : uniform(&dice);
		}
		for (size_t e = 0; e < CENTRES * D; e++)
			start[e] = turn < 2 ? uniform(&dice)
					    : x[e / D * (POINTS / CENTRES) * D + e % D];
		for (size_t e = 0; turn < 2 && e < POINTS / 2 * D; e++)
			x[e] = start[e / D % CENTRES * D + e % D] + width * uniform(&dice);
		g = problem_of(turn & 1 ? REAL_FLOAT : REAL_DOUBLE, POINTS, D, CENTRES, x, start);
		g.kind = turn < 2 ? "half blobs" : "half a surface";
		plain = run(&g, PRUNE_NONE, 1, iterations);
		two = run(&g, PRUNE_AUTO, 2, iterations);
		are_same(&g, &plain.kept, &two.kept, PRUNE_AUTO, 2);
		assert_string_equal(choice_make(&two.problem, PRUNE_AUTO).method[0]->name, "boxes");
		drop(&plain.kept);
		drop(&two.kept);
		forget(&g);
	}
}

static void test_trying_bounds_costs_little(void **state)
{
	static const struct {
		size_t n;
		unsigned d, k;
	} cases[] = { { 400, 4, 64 }, { 2000, 16, 256 }, { 3000, 300, 16 }, { 1000, 256, 128 } };
	/* The last two are six times the work of the others: ten seconds, emulated. */
	const size_t few = getenv("LOCUS_EMULATED") ? 2 : LENGTH(cases);

	(void)state;
	for (unsigned real = REAL_DOUBLE; real <= REAL_FLOAT; real++)
		for (size_t i = 0; i < few; i++)
			trying_bounds_costs_little(real, cases[i].n, cases[i].d, cases[i].k);
}

static void test_it_ends_when_no_label_changes(void **state)
{
	(void)state;
	for (uint64_t seed = 0; seed < cases(12); seed++) {
		struct given g = random_problem(seed);
		struct job end = run(&g, PRUNE_AUTO, 1, 0), before;

		assert_memory_equal(end.kept.from, end.kept.centre,
				    g.problem.k * g.problem.points.d * sizeof(double));
		assert_true(end.kept.iterations >= 2);
		before = run(&g, PRUNE_AUTO, 1, end.kept.iterations - 1);
		assert_memory_equal(before.kept.label, end.kept.label,
				    g.problem.points.n * sizeof(uint32_t));
		drop(&before.kept);
		if (end.kept.iterations > 2) {
			before = run(&g, PRUNE_AUTO, 1, end.kept.iterations - 2);
			assert_memory_not_equal(before.kept.label, end.kept.label,
						g.problem.points.n * sizeof(uint32_t));
			drop(&before.kept);
		}
		drop(&end.kept);
		forget(&g);
	}
}

/* A lump so dense that its distances would drown in the rounding of scores. */
static void test_it_ends_where_scores_would_lead_in_a_circle(void **state)
{
	(void)state;
	for (uint64_t seed = 0; seed < 20; seed++) {
		struct dice dice = { seed, 0 };
		enum { POINTS = 100, CENTRES = 8 };
		double *x = malloc(POINTS * sizeof(*x)), *start = malloc(CENTRES * sizeof(*start));
		struct given g;
		struct job end;

		assert_non_null(x);
		assert_non_null(start);
		for (size_t i = 0; i < POINTS; i++)
			x[i] = i ? 9 + 1e-4 * uniform(&dice) : -9;
		memcpy(start, x + 1, CENTRES * sizeof(*x));
		g = problem_of(REAL_FLOAT, POINTS, 1, CENTRES, x, start);
		end = run(&g, PRUNE_AUTO, 1, 0);
		assert_true(end.kept.iterations < MOST_ITERATIONS);
		drop(&end.kept);
		forget(&g);
	}
}

/* Ranks are threads here, each with a team of its own. */
enum { RANKS = 3 };
static struct {
	pthread_barrier_t barrier;
	const int64_t *sum[RANKS];
	const double *most[RANKS];
} meeting;
static _Thread_local unsigned rank_here;

static void sum_of_ranks(int64_t *value, size_t n)
{
	int64_t *sum = calloc(n, sizeof(*sum));

	meeting.sum[rank_here] = value;
	pthread_barrier_wait(&meeting.barrier);
	for (unsigned r = 0; r < RANKS; r++)
		for (size_t i = 0; i < n; i++)
			sum[i] += meeting.sum[r][i]; /* a sanitizer sees when that is too large */
	pthread_barrier_wait(&meeting.barrier);
	memcpy(value, sum, n * sizeof(*sum));
	free(sum);
}

static void most_of_ranks(double *value, size_t n)
{
	double *most = copy(value, n * sizeof(*value));

	meeting.most[rank_here] = value;
	pthread_barrier_wait(&meeting.barrier);
	for (unsigned r = 0; r < RANKS; r++)
		for (size_t i = 0; i < n; i++)
			most[i] = fmax(most[i], meeting.most[r][i]);
	pthread_barrier_wait(&meeting.barrier);
	memcpy(value, most, n * sizeof(*most));
	free(most);
}

struct rank {
	pthread_t thread;
	unsigned number;
	struct ranks ranks;
	struct job job;
	int status;
};

static void *be_rank(void *argument)
{
	struct rank *r = argument;

	rank_here = r->number;
	r->status = team_open(r->job.problem.threads, solve, &r->job);
	return NULL;
}

static void ranks_agree(const struct given *g, enum prune prune)
{
	const struct points *p = &g->problem.points;
	struct job alone = run(g, prune, 1, g->seed % 2 ? 0 : 6);
	struct rank rank[RANKS];

	for (unsigned r = 0; r < RANKS && alone.fits; r++) {
		struct problem *part = &rank[r].job.problem;
		const size_t first = share_begin(p->n, r, RANKS);

		rank[r] = (struct rank){ .number = r,
					 .ranks = { .rank = r,
						    .ranks = RANKS,
						    .sum = sum_of_ranks,
						    .most = most_of_ranks },
					 .job = alone };
		part->points.x = (char *)p->x + first * p->d * real_bytes(p->real);
		part->points.n = share_size(p->n, r, RANKS);
		part->threads = 1 + r;
		part->ranks = &rank[r].ranks;
		assert_int_equal(pthread_create(&rank[r].thread, NULL, be_rank, &rank[r]), 0);
	}
	for (unsigned r = 0; r < RANKS && alone.fits; r++)
		assert_int_equal(pthread_join(rank[r].thread, NULL), 0);
	for (unsigned r = 0; r < RANKS && alone.fits; r++) {
		assert_int_equal(rank[r].status, 0);
		assert_int_equal(rank[r].job.kept.iterations, alone.kept.iterations);
		assert_memory_equal(rank[r].job.kept.centre, alone.kept.centre,
				    g->problem.k * p->d * sizeof(double));
		assert_memory_equal(rank[r].job.kept.count, alone.kept.count,
				    g->problem.k * sizeof(uint64_t));
		assert_memory_equal(rank[r].job.kept.label,
				    alone.kept.label + share_begin(p->n, r, RANKS),
				    rank[r].job.problem.points.n * sizeof(uint32_t));
		drop(&rank[r].job.kept);
	}
	if (alone.fits)
		drop(&alone.kept);
}

static void test_ranks_change_nothing(void **state)
{
	(void)state;
	assert_int_equal(pthread_barrier_init(&meeting.barrier, NULL, RANKS), 0);
	for (uint64_t seed = 0; seed < cases(8); seed++) {
		struct given g = seed % 4 ? random_problem(seed) : larger_problem(seed, 0);

		ranks_agree(&g, (enum prune)(seed % 3 ? PRUNE_AUTO : seed % (PRUNE_BALLS + 1)));
		forget(&g);
	}
	pthread_barrier_destroy(&meeting.barrier);
}

static void test_no_sum_can_overflow(void **state)
{
	(void)state;
	for (int bits = 0; bits <= 60; bits++)
		for (int more = -1; more <= 1; more++) {
			const size_t points = (size_t)((UINT64_C(1) << bits) + (uint64_t)more);
			struct dice dice = { (uint64_t)bits, 0 };

			for (int i = 0; points && i < 50; i++) {
				const double most = ldexp(i ? uniform(&dice) : 1,
							  (int)below(&dice, 1900) - 1000);
				const double scale = sum_scale(most, points);
				const int64_t high = sum_term(most, scale) - SUM_MAGIC_BITS,
					      low = sum_term(-most, scale) - SUM_MAGIC_BITS;

				assert_true((__int128)high * (__int128)points <= (__int128)1 << 62);
				assert_int_equal(low, -high);
				assert_true(high >= INT64_C(1) << (sum_bits(points) -
								   (sum_bits(points) > 0)) ||
					    most < 0x1p-900);
			}
		}
}

static void test_terms_are_the_nearest_integers(void **state)
{
	struct dice dice = { 1, 0 };

	(void)state;
	assert_int_equal(sum_term(0, 1) - SUM_MAGIC_BITS, 0);
	assert_int_equal(sum_term(0x1p51, 1) - SUM_MAGIC_BITS, INT64_C(1) << 51);
	assert_int_equal(sum_term(-0x1p51, 1) - SUM_MAGIC_BITS, -(INT64_C(1) << 51));
	for (int i = 0; i < 10000; i++) {
		const double most = ldexp(0.5 + uniform(&dice) / 2, (int)below(&dice, 100) - 50),
			     scale = sum_scale(most, 1 + below(&dice, 1u << 30));
		const double x = most * (2 * uniform(&dice) - 1);

		assert_int_equal(sum_term(x, scale) - SUM_MAGIC_BITS, llrint(x * scale));
	}
}

/* Points come and go; sums of 64 bits may wrap around and back. */
static void test_sums_by_changes(void **state)
{
	enum { D = 11, K = 5, POINTS = 300 };
	int64_t changing[D * K + K + 2], once[D * K + K + 2];
	struct sums a = sums_at(changing, D, K), b = sums_at(once, D, K);
	double x[POINTS][D], scale[D];
	uint32_t label[POINTS];
	struct dice dice = { 3, 0 };

	(void)state;
	assert_int_equal(sums_length(D, K), LENGTH(changing));
	sums_clear(&a);
	sums_clear(&b);
	for (unsigned j = 0; j < D; j++)
		scale[j] = sum_scale(1, POINTS);
	for (unsigned i = 0; i < POINTS; i++) {
		for (unsigned j = 0; j < D; j++)
			x[i][j] = 2 * uniform(&dice) - 1;
		sums_move_double(&a, x[i], scale, SUM_NONE, label[i] = below(&dice, K));
	}
	for (unsigned turn = 0; turn < 10000; turn++) {
		const unsigned i = below(&dice, POINTS), to = below(&dice, K);

		sums_move_double(&a, x[i], scale, label[i], to);
		label[i] = to;
	}
	for (unsigned i = 0; i < POINTS; i++)
		sums_move_double(&b, x[i], scale, SUM_NONE, label[i]);
	assert_int_equal(*a.moves, POINTS + 10000);
	*a.moves = *b.moves;
	assert_memory_equal(changing, once, sizeof(once));
	for (unsigned c = 0; c < K; c++) {
		sums_remove_magic(&b, c);
		for (unsigned j = 0; j < D; j++) {
			int64_t sum = 0;

			for (unsigned i = 0; i < POINTS; i++)
				sum += label[i] == c ? llrint(x[i][j] * scale[j]) : 0;
			assert_int_equal(b.sum[c * D + j], sum);
		}
	}
}

/* The winner among the centres of one group. */
static struct winner plain_winner(const double *x, const double *c, const double *half, unsigned d,
				  unsigned k, unsigned first, unsigned n)
{
	struct winner w = { INFINITY, INFINITY, 0 };

	for (unsigned e = first; e < first + n && e < k; e++) {
		double s = half[e];

		for (unsigned j = 0; j < d; j++)
			s -= x[j] * c[(size_t)e * d + j];
		if (s < w.score) {
			w.second = w.score;
			w.score = s;
			w.label = e;
		} else {
			w.second = fmin(w.second, s);
		}
	}
	return w;
}

/* Points, centres and halves of their squares. */
struct plain {
	const double *x, *c, *half;
};

/* Points whose nearest centre is nearer than any other by more than a margin are told. */
static void apart_is_right(const struct tiles *t, const void *block, const struct packed *packed,
			   const uint32_t *label, const struct plain *plain)
{
	const unsigned n = t->block;
	uint32_t found[MOST_BLOCK];

	for (unsigned margin = 0; margin <= 8; margin += 4) {
		const uint64_t apart = t->nearest_apart(block, packed, margin, found);

		assert_memory_equal(found, label, n * sizeof(*label));
		for (unsigned i = 0; i < n; i++) {
			const struct winner w =
				plain_winner(plain->x + (size_t)i * packed->d, plain->c,
					     plain->half, packed->d, packed->k, 0, packed->k);

			assert_int_equal(apart >> i & 1, w.second - w.score > margin);
		}
	}
}

/* Up to FEW_ROWS rows at once. Where two centres are equally near, any of them is told. */
static void two_are_right(const struct tiles *t, enum real real, const char *given,
			  const struct packed *packed, const struct plain *plain)
{
	const size_t d = packed->d, row = d * real_bytes(real);
	_Alignas(64) double score[FEW_ROWS], second[FEW_ROWS];
	double *all = apart_alloc((packed->k + t->group) * sizeof(*all));
	uint32_t found[FEW_ROWS];

	for (unsigned first = 0, n = 1; first + n <= t->block; first += n, n = n % FEW_ROWS + 1) {
		t->two_of_rows(given + first * row, n, packed, found, score, second);
		for (unsigned i = 0; i < n; i++) {
			const double *x = plain->x + (first + i) * d;
			const struct winner w = plain_winner(x, plain->c, plain->half, packed->d,
							     packed->k, 0, packed->k);

			assert_true(real_get(real, score, i) == w.score);
			assert_true(real_get(real, second, i) == w.second);
			if (w.second > w.score)
				assert_int_equal(found[i], w.label);
			assert_true(t->scores(given + (first + i) * row, packed, all) == w.score);
			assert_true(found[i] < packed->k &&
				    real_get(real, all, found[i]) == w.score);
			for (unsigned c = 0; c < packed->k; c++)
				assert_true(real_get(real, all, c) ==
					    plain_winner(x, plain->c, plain->half, packed->d,
							 packed->k, c, 1)
						    .score);
		}
	}
	free(all);
}

/* The centres in reverse order, and rows that are listed. */
static void lists_are_right(const struct tiles *t, enum real real, const void *given,
			    const struct packed *packed, const void *centre, const void *halves,
			    const double *x)
{
	const unsigned d = packed->d, k = packed->k, n = t->block - 1,
		       few = t->block < FEW_ROWS ? t->block : FEW_ROWS;
	struct carver none = { .memory = NULL }, carver = { .memory = NULL };
	struct packed reversed = packed_carve(&none, d, k, real);
	uint32_t *list = malloc((k > n ? k : n) * sizeof(*list)), found[FEW_ROWS], again[FEW_ROWS];
	_Alignas(64) double score[2][FEW_ROWS], second[2][FEW_ROWS];
	double *square = malloc(n * sizeof(*square));
	float *floats = malloc((size_t)n * d * sizeof(*floats));

	carver.memory = apart_alloc(none.used);
	reversed = packed_carve(&carver, d, k, real);
	reversed.groups = packed->groups;
	for (unsigned c = 0; c < k; c++)
		list[c] = k - 1 - c;
	t->pack(&reversed, centre, halves, list);
	t->two_of_rows(given, few, packed, found, score[0], second[0]);
	t->two_of_rows(given, few, &reversed, again, score[1], second[1]);
	for (unsigned i = 0; i < few; i++) {
		assert_true(real_get(real, score[0], i) == real_get(real, score[1], i));
		assert_true(real_get(real, second[0], i) == real_get(real, second[1], i));
		if (real_get(real, second[0], i) > real_get(real, score[0], i))
			assert_int_equal(found[i], k - 1 - again[i]);
	}
	for (unsigned i = 0; i < n; i++)
		list[i] = (i * 5 + 1) % (n + 1);
	t->squares(given, list, n, given, d, square);
	t->floats(floats, given, list, n, d);
	for (unsigned i = 0; i < n; i++) {
		double sum = 0;

		for (unsigned j = 0; j < d; j++) {
			const double value = x[(size_t)list[i] * d + j];

			sum += (value - x[j]) * (value - x[j]);
			assert_true((double)floats[i * d + j] == value);
		}
		assert_true(square[i] == sum);
	}
	free(list);
	free(square);
	free(floats);
	free(carver.memory);
}

/* Each third centre, for the points of a block; gaps of scores are multiples of a half. */
static void listed_are_right(const struct tiles *t, const void *block, const void *centre,
			     const void *halves, unsigned d, unsigned k, const struct plain *plain)
{
	uint32_t *list = malloc((k / 3 + 1) * sizeof(*list)), label[MOST_BLOCK];
	unsigned listed = 0;
	uint64_t told;

	for (unsigned c = k % 3 % k; c < k; c += 3)
		list[listed++] = c;
	told = t->nearest_listed(block, centre, halves, list, listed, d, 0.75, label);
	for (unsigned i = 0; i < t->block; i++) {
		struct winner least = { INFINITY, INFINITY, 0 };

		for (unsigned e = 0; e < listed; e++) {
			const struct winner one = plain_winner(plain->x + (size_t)i * d, plain->c,
							       plain->half, d, k, list[e], 1);

			if (one.score < least.score)
				least = (struct winner){ one.score, least.score, list[e] };
			else
				least.second = fmin(least.second, one.score);
		}
		assert_int_equal(label[i], least.label);
		assert_int_equal(told >> i & 1, least.second - least.score > 0.75);
	}
	free(list);
}

/* Whether those found are the rivals of centre `nearest`. */
static bool are_rivals_of(unsigned nearest, const uint16_t *found, unsigned n, const double *extent,
			  const double *score, unsigned d, unsigned k, const double *c)
{
	unsigned wanted = 0;

	for (unsigned e = 0; e < k; e++) {
		double gain = 0;

		for (unsigned j = 0; j < d; j++)
			gain += extent[j] * fabs(c[(size_t)e * d + j] - c[(size_t)nearest * d + j]);
		if (score[e] - gain > score[nearest] + 0.25)
			continue;
		if (wanted == n || found[wanted] != e)
			return false;
		wanted++;
	}
	return wanted == n;
}

/* The rivals in a box around the first point, of any centre that is nearest to that. */
static void rivals_are_right(const struct tiles *t, enum real real, const void *given,
			     const struct packed *packed, struct dice *dice,
			     const struct plain *plain)
{
	const unsigned d = packed->d, k = packed->k, groups = packed->groups * t->group;
	double *extent = malloc(d * sizeof(*extent)), *score = malloc(k * sizeof(*score)),
	       least = INFINITY;
	void *wide, *scores = aligned_alloc(64, round_up(groups * sizeof(double), 64));
	uint16_t *found = malloc(groups * sizeof(*found));
	bool right = false;
	unsigned n;

	for (unsigned j = 0; j < d; j++)
		extent[j] = below(dice, 8) / 8.0;
	wide = typed(extent, d, real);
	n = t->rivals(given, wide, packed, 0.25, scores, found);
	for (unsigned c = 0; c < k; c++) {
		score[c] = plain_winner(plain->x, plain->c, plain->half, d, k, c, 1).score;
		assert_true(real_get(real, scores, c) == score[c]);
		least = fmin(least, score[c]);
	}
	for (unsigned c = 0; c < k; c++)
		right |= score[c] <= least &&
			 are_rivals_of(c, found, n, extent, score, d, k, plain->c);
	assert_true(right);
	if (real == REAL_FLOAT)
		free(wide);
	free(extent);
	free(score);
	free(scores);
	free(found);
}

/* A block's points and rows are moved alike, and those that stay are left. */
static void moves_are_right(const struct tiles *t, const void *block, const void *given, unsigned d,
			    const uint32_t *label)
{
	enum { CENTRES = 128 };
	const size_t length = sums_length(d, CENTRES);
	int64_t *one = calloc(length, sizeof(*one)), *other = calloc(length, sizeof(*other));
	struct sums by_block = sums_at(one, d, CENTRES), by_row = sums_at(other, d, CENTRES);
	uint32_t before[2][MOST_BLOCK];
	double *scale = malloc(d * sizeof(*scale));

	for (unsigned j = 0; j < d; j++)
		scale[j] = ldexp(1, (int)j % 20);
	for (unsigned i = 0; i < t->block; i++)
		before[0][i] = before[1][i] = i % 3 == 0   ? SUM_NONE
					      : i % 3 == 1 ? label[i]
							   : CENTRES - 1;
	t->move(&by_block, block, scale, t->block - 1, before[0], label);
	t->move_rows(&by_row, given, scale, t->block - 1, before[1], label);
	assert_memory_equal(one, other, length * sizeof(*one));
	assert_memory_equal(before[0], before[1], t->block * sizeof(**before));
	assert_memory_equal(before[1], label, (t->block - 1) * sizeof(**before));
	assert_true(*by_row.moves > 0);
	free(one);
	free(other);
	free(scale);
}

/* The kernels of one instruction set, on whole numbers, of which all scores are exact. */
static void tiles_are_right(const struct tiles *t, enum real real, unsigned d, unsigned k)
{
	const size_t bytes = real_bytes(real), n = t->block;
	struct dice dice = { d * 1000 + k, 0 };
	double *x = malloc(n * d * sizeof(*x)), *c = malloc((size_t)k * d * sizeof(*c)),
	       *half = calloc(k, sizeof(*half));
	void *block = aligned_alloc(64, 64 * n * d);
	struct carver none = { .memory = NULL }, carver = { .memory = NULL };
	_Alignas(64) double score[MOST_BLOCK];
	struct packed packed = packed_carve(&none, d, k, real);
	void *given, *centre, *halves, *origin, *shifted;
	double *zero = calloc(d + 1, sizeof(*zero)), *there = malloc((d + 1) * sizeof(*there));
	uint32_t label[MOST_BLOCK];
	_Alignas(64) double seconds[MOST_BLOCK];
	void *bests = aligned_alloc(64, 64 * (k + t->group) * n);
	float *lower = malloc((k + t->group) * n * sizeof(*lower));
	double squares[MOST_BLOCK];
	uint16_t list[MOST_BLOCK];
	struct winner winner[MOST_BLOCK];

	for (size_t e = 0; e < n * d; e++)
		x[e] = (double)below(&dice, 9) - 4;
	for (size_t e = 0; e < (size_t)k * d; e++) {
		c[e] = (double)below(&dice, 9) - 4;
		half[e / d] += c[e] * c[e] / 2;
	}
	given = typed(x, n * d, real);
	centre = typed(c, (size_t)k * d, real);
	halves = typed(half, k, real);
	zero[d] = 1;
	for (unsigned j = 0; j <= d; j++)
		there[j] = j < d ? (double)j - 3 : 0.25;
	origin = typed(zero, d + 1, real);
	shifted = typed(there, d + 1, real);
	carver.memory = apart_alloc(none.used);
	assert_non_null(carver.memory);
	packed = packed_carve(&carver, d, k, real);
	packed.groups = (k + t->group - 1) / t->group;
	t->pack(&packed, centre, halves, NULL);
	t->transpose(block, given, origin, n, d);
	t->nearest_two(block, &packed, label, score, bests, seconds);
	apart_is_right(t, block, &packed, label, &(struct plain){ x, c, half });
	two_are_right(t, real, given, &packed, &(struct plain){ x, c, half });
	lists_are_right(t, real, given, &packed, centre, halves, x);
	listed_are_right(t, block, centre, halves, d, k, &(struct plain){ x, c, half });
	rivals_are_right(t, real, given, &packed, &dice, &(struct plain){ x, c, half });
	moves_are_right(t, block, given, d, label);
	t->lower(block, bests, d, packed.groups, 1, lower, squares);
	/* no point beside its neighbour, and a number of points that is no multiple of four */
	for (unsigned i = 0; i < n; i++)
		list[i] = (uint16_t)(i * 5 % (n - 1));
	for (size_t i = 0; i < n; i++) {
		const struct winner plain = plain_winner(x + i * d, c, half, d, k, 0, k);

		assert_int_equal(label[i], plain.label);
		assert_true(real_get(real, score, i) == plain.score);
	}
	for (unsigned g = 0; g < packed.groups; g++) {
		t->of_group(given, list, (unsigned)n - 1, &packed, g, winner);
		for (size_t i = 0; i < n - 1; i++) {
			const struct winner is = winner[i],
					    plain = plain_winner(x + (size_t)list[i] * d, c, half,
								 d, k, g * t->group, t->group);
			const double best = real_get(real, bests, ((size_t)g * n) + list[i]),
				     square = 2 * best + squares[list[i]] - 1;

			assert_true(is.score == plain.score && is.second == plain.second &&
				    is.label == plain.label && best == plain.score);
			assert_true(lower[list[i] * packed.groups + g] == fmax(square, 0));
			if (label[list[i]] == is.label)
				assert_true(real_get(real, seconds, list[i]) == is.second);
		}
	}
	for (size_t i = 1; i < n; i++) {
		double square = 0;

		for (unsigned j = 0; j < d; j++)
			square += (x[j] - x[i * d + j]) * (x[j] - x[i * d + j]);
		assert_true(t->square(given, (const char *)given + i * d * bytes, d) == square);
	}
	t->relate(block, given, shifted, d);
	for (unsigned j = 0; j < d; j++)
		assert_true(real_get(real, block, j) == (x[j] - there[j]) * 0.25);
	t->transpose(block, given, shifted, n - 1, d);
	for (size_t i = 0; i < n; i++)
		for (unsigned j = 0; j < d; j++)
			assert_true(real_get(real, block, j * n + i) ==
				    (i < n - 1 ? (x[i * d + j] - there[j]) * 0.25 : 0));
	if (real == REAL_FLOAT) {
		free(given);
		free(centre);
		free(halves);
		free(origin);
		free(shifted);
	}
	free(x);
	free(c);
	free(half);
	free(block);
	free(carver.memory);
	free(zero);
	free(there);
	free(bests);
	free(lower);
}

/* Some bounds of which one is the least, and some at the limit. */
static void near_is_right(const struct tiles *t, enum real real, unsigned n)
{
	struct dice dice = { n, 0 };
	double *bound = malloc((n + 1) * sizeof(*bound)), *reach = malloc((n + 1) * sizeof(*reach)),
	       least, is;
	void *bounds, *reaches;
	uint16_t near[128];
	unsigned found = 0, wanted = 0;

	for (unsigned i = 0; i < n; i++) {
		bound[i] = below(&dice, 100);
		reach[i] = below(&dice, 10);
	}
	bounds = typed(bound, n, real);
	reaches = typed(reach, n, real);
	for (int limit = -20; limit < 110; limit += 10) {
		found = t->near(bounds, reaches, n, limit, near, &is);
		wanted = 0;
		least = INFINITY;
		for (unsigned i = 0; i < n; i++) {
			least = fmin(least, bound[i] - reach[i]);
			if (bound[i] - reach[i] <= limit)
				assert_int_equal(near[wanted++], i);
		}
		assert_int_equal(found, wanted);
		assert_true(is == least);
	}
	if (real == REAL_FLOAT) {
		free(bounds);
		free(reaches);
	}
	free(bound);
	free(reach);
}

static void root_is_right(const struct tiles *t, enum real real, unsigned n)
{
	struct dice dice = { n, 0 };
	double *square = malloc((n + 1) * sizeof(*square)), *rise = malloc((n + 1) * sizeof(*rise)),
	       *squares, least = INFINITY, is;
	void *bounds, *rises;

	for (unsigned i = 0; i < n; i++) {
		square[i] = below(&dice, 100);
		rise[i] = below(&dice, 10);
		least = fmin(least, sqrt(square[i]));
	}
	bounds = typed(square, n, real);
	squares = copy(square, n * sizeof(*square));
	rises = typed(rise, n, real);
	is = t->root(bounds, rises, n);
	assert_true(n == 0 || (is <= least && is >= least * (1 - 1e-5)));
	for (unsigned i = 0; i < n; i++) {
		const double exact = sqrt(squares[i]) + rise[i], bound = real_get(real, bounds, i);

		assert_true(bound <= exact && bound >= exact * (1 - 1e-5));
	}
	if (real == REAL_FLOAT) {
		free(bounds);
		free(rises);
	}
	free(squares);
	free(square);
	free(rise);
}

static void box_is_right(const struct tiles *t, enum real real, size_t n, unsigned d)
{
	struct dice dice = { n * 100 + d, 0 };
	double *x = malloc(n * d * sizeof(*x) + 1), least[64], negated[64];
	void *given, *scratch = aligned_alloc(64, (size_t)2 * d * MOST_WIDTH);

	for (size_t e = 0; e < n * d; e++)
		x[e] = uniform(&dice) - 0.5;
	given = typed(x, n * d, real);
	t->box(given, n, d, least, negated, scratch);
	for (unsigned j = 0; j < d; j++) {
		double low = INFINITY, high = -INFINITY;

		for (size_t i = 0; i < n; i++) {
			low = fmin(low, x[i * d + j]);
			high = fmax(high, x[i * d + j]);
		}
		assert_true(least[j] == low && negated[j] == -high);
	}
	if (real == REAL_FLOAT)
		free(given);
	free(x);
	free(scratch);
}

static void test_each_instruction_set(void **state)
{
	static const unsigned d[] = { 1, 2, 3, 7, 8, 16, 33 },
			      k[] = { 1, 2, 7, 8, 9, 16, 17, 31, 64, 100 };
	unsigned sets = 0;

	(void)state;
	for (unsigned real = REAL_DOUBLE; real <= REAL_FLOAT; real++)
		for (unsigned set = 0; tiles_usable(set, real); set++, sets++) {
			const struct tiles *t = tiles_usable(set, real);

			assert_true(t->block <= MOST_BLOCK &&
				    t->lanes * real_bytes(real) <= MOST_WIDTH &&
				    t->block % t->lanes == 0);
			for (unsigned i = 0; i < 100; i += 1 + i / 20) {
				root_is_right(t, real, i);
				near_is_right(t, real, i);
			}
			for (unsigned i = 0; i < LENGTH(d); i++) {
				for (unsigned j = 0; j < LENGTH(k); j++) {
					tiles_are_right(t, real, d[i], k[j]);
					box_is_right(t, real, k[j] - 1, d[i]);
				}
			}
		}
	assert_true(sets >= 2);
}

/* Wider sets are later in the order, and a processor that has one has those before it. */
static void test_sets_of_instructions(void **state)
{
	(void)state;
	for (int set = ISA_SCALAR + 1; set < ISAS; set++) {
		assert_string_not_equal(isa_name(set), isa_name(set - 1));
		assert_true(isa_width(set) > isa_width(set - 1));
		assert_true(isa_usable(set - 1) || !isa_usable(set));
	}
	assert_true(isa_usable(ISA_BASELINE));
}

static void test_rate_is_a_number(void **state)
{
	(void)state;
	for (unsigned real = REAL_DOUBLE; real <= REAL_FLOAT; real++)
		assert_true(isfinite(rate_fma(real)) && rate_fma(real) > 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_terms_are_the_nearest_integers),
		cmocka_unit_test(test_no_sum_can_overflow),
		cmocka_unit_test(test_sums_by_changes),
		cmocka_unit_test(test_each_instruction_set),
		cmocka_unit_test(test_sets_of_instructions),
		cmocka_unit_test(test_rate_is_a_number),
		cmocka_unit_test(test_each_iteration_is_a_plain_one),
		cmocka_unit_test(test_pruning_and_threads_change_nothing),
		cmocka_unit_test(test_points_far_out_hide_nothing),
		cmocka_unit_test(test_of_many_points_too),
		cmocka_unit_test(test_what_is_far_from_zero_loses_nothing),
		cmocka_unit_test(test_of_more_points_than_a_method_can_count),
		cmocka_unit_test(test_of_less_room_than_pruning_needs),
		cmocka_unit_test(test_of_less_room_than_what_follows_needs),
		cmocka_unit_test(test_the_filter_stops_where_floats_decide_nothing),
		cmocka_unit_test(test_bounds_are_bounds),
		cmocka_unit_test(test_room_of_balls_is_a_bound),
		cmocka_unit_test(test_boxes_leave_out_none_that_is_nearest),
		cmocka_unit_test(test_a_tie_at_the_corner_of_a_box_is_seen),
		cmocka_unit_test(test_boxes_stay_where_nothing_moves),
		cmocka_unit_test(test_boxes_hold_all_points),
		cmocka_unit_test(test_threads_have_points_that_are_near),
		cmocka_unit_test(test_a_rival_at_the_edge_is_seen),
		cmocka_unit_test(test_moves_are_seen),
		cmocka_unit_test(test_methods_give_up_where_they_do_not_pay),
		cmocka_unit_test(test_workers_may_prune_differently),
		cmocka_unit_test(test_trying_bounds_costs_little),
		cmocka_unit_test(test_it_ends_when_no_label_changes),
		cmocka_unit_test(test_it_ends_where_scores_would_lead_in_a_circle),
		cmocka_unit_test(test_ranks_change_nothing),
	};
	const char *error;
	int failed;

	machine = machine_open("core:8 pu:1", &error);
	failed = machine ? cmocka_run_group_tests(tests, NULL, NULL) : 1;
	machine_close(machine);
	return failed;
}
