/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lloyd's k-means against a plain one, step by step; and against itself: any pruning and any number
 * of threads give the same, bit for bit.
 */
#include "lloyd.h"

/* Not squared: long double may have no larger range than double. */
static long double distance(const double *a, const double *b, unsigned d)
{
	long double all = 0;

	for (unsigned j = 0; j < d; j++)
		all = hypotl(all, (long double)a[j] - b[j]);
	return all;
}

/* A label may differ from the plain one only if the point's distances to both centres are equal. */
static void labels_are_right(const struct given *g, const struct kept *s)
{
	const unsigned d = g->problem.points.d;

	for (size_t i = 0; i < g->problem.points.n; i++) {
		long double least = INFINITY, own = 0;

		assert_true(s->label[i] < g->problem.k);
		for (unsigned c = 0; c < g->problem.k; c++) {
			const long double now = distance(g->x + i * d, s->from + (size_t)c * d, d);

			least = fminl(least, now);
			own = c == s->label[i] ? now : own;
		}
		if (own > least * (1 + (d + 4) * DBL_EPSILON / 2))
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
			 * floats relative to the origin were rounded; `bulk`: of most points, if
			 * some are far out
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

/* Each iteration begins where the previous one ended: so all are right if each step is. */
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

/* A kind of pruning that does not fit the problem is skipped; only cells may not fit. */
static void any_way_gives_the_same(const struct given *g, uint64_t iterations)
{
	struct job plain = run(g, PRUNE_NONE, 1, iterations);

	for (unsigned prune = PRUNE_AUTO; prune <= PRUNE_BOXES; prune++) {
		/*
		 * One number of threads for each seed, so each kind of data meets all numbers over
		 * the seeds: on one CPU, threads mostly wait for each other.
		 */
		const unsigned threads =
			1 + (unsigned)(g->seed + g->seed / LENGTH(kinds) + prune) % MOST_THREADS;
		struct job job = run(g, prune, threads, iterations);

		assert_true(job.fits || prune == PRUNE_CELLS);
		if (!job.fits)
			continue;
		are_same(g, &plain.kept, &job.kept, prune, threads);
		/*
		 * with few points, distances from the middles of cells, balls and boxes are added
		 */
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

#define CLUSTERS_WIDE 6 /* half the width that the start centres cover below */

/*
 * Clusters 1 apart at some offset, and points far out: one point in all dimensions or in one, or
 * three points; or only a start centre.
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
	for (int exponent = 0; exponent <= 306; exponent += exponent < 40 ? 3 : 38, seed++) {
		struct given g = problem_with_outlier(seed * 5 + seed / 4, pow(10, exponent),
						      place[seed % LENGTH(place)]);

		outlier_hides_nothing(&g);
		forget(&g);
	}
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

/* Cells number the points of a rank by 32 bits, other methods those of a thread. */
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
	assert_false(choice_make(&p, PRUNE_BOXES).deals); /* places have 32 bits */
	p.threads = 1;
	p.points.n = p.all = (size_t)1 << 31;
	assert_true(lloyd_bytes(&p, PRUNE_CELLS) > 0);
}

/* PRUNE_AUTO is never refused for its memory if PRUNE_NONE fits: it then prunes less. */
static void test_of_less_room_than_pruning_needs(void **state)
{
	struct problem p = { .points = { .real = REAL_DOUBLE, .n = 100000, .d = 32 },
			     .all = 100000,
			     .k = 4000,
			     .threads = 2 };
	const size_t automatic = lloyd_bytes(&p, PRUNE_AUTO), none = lloyd_bytes(&p, PRUNE_NONE),
		     balls = lloyd_bytes(&p, PRUNE_BALLS);
	static const char *const fits[] = { "balls", "brute", "brute" };

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
		assert_int_equal(lloyd_bytes(&p, PRUNE_BALLS), balls);
		assert_string_equal(choice_make(&p, PRUNE_AUTO).method[0]->name, fits[i]);
	}
}

/* In two dimensions there are cells, followed by boxes or, if memory is short, by less pruning. */
static void test_of_less_room_than_what_follows_needs(void **state)
{
	struct problem p = { .points = { .real = REAL_DOUBLE, .n = 100000, .d = 2 },
			     .all = 100000,
			     .k = 60000,
			     .threads = 1 };

	(void)state;
	p.room = lloyd_bytes(&p, PRUNE_CELLS);
	assert_true(lloyd_bytes(&p, PRUNE_BOXES) > p.room);
	assert_int_equal(lloyd_bytes(&p, PRUNE_AUTO), p.room);
	assert_string_equal(choice_make(&p, PRUNE_AUTO).method[0]->name, "cells");
}

/*
 * Most points are in a lump far from another point: floats decide nothing, and doubles compute most
 * distances.
 */
static void test_floats_stop_where_they_decide_nothing(void **state)
{
	enum { POINTS = 20000, CENTRES = 64, D = 4, ITERATIONS = 2 };
	const size_t n = cases(POINTS);
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
	g = problem_of(REAL_DOUBLE, n, D, CENTRES, x, start);
	plain = run(&g, PRUNE_NONE, 1, ITERATIONS);
	automatic = run(&g, PRUNE_AUTO, 1, ITERATIONS);
	are_same(&g, &plain.kept, &automatic.kept, PRUNE_AUTO, 1);
	/* a distance in float counts as half, in addition */
	assert_true(automatic.kept.distances > plain.kept.distances);
	assert_true((double)automatic.kept.distances < 1.05 * (double)plain.kept.distances);
	drop(&plain.kept);
	drop(&automatic.kept);
	forget(&g);
}

/*
 * The boxes of four threads are hardly larger than those of one: points are assigned to threads by
 * place.
 */
static void test_threads_have_points_that_are_near(void **state)
{
	enum { POINTS = 40000, D = 4, CENTRES = 256, ITERATIONS = 3, THREADS = 4 };
	const size_t n = cases(POINTS);
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
	g = problem_of(REAL_DOUBLE, n, D, CENTRES, x, start);
	one = run(&g, PRUNE_BOXES, 1, ITERATIONS);
	four = run(&g, PRUNE_BOXES, THREADS, ITERATIONS);
	are_same(&g, &one.kept, &four.kept, PRUNE_BOXES, THREADS);
	/* of all points: in the given order, 2.1 times as many; by place, 1.3 times */
	if (n == POINTS)
		assert_true((double)four.kept.distances < 1.6 * (double)one.kept.distances);
	drop(&one.kept);
	drop(&four.kept);
	forget(&g);
}

/*
 * One worker has blobs and continues with balls, or it has a curved surface and begins with boxes;
 * another has uniform points and stops pruning.
 */
static void test_workers_may_prune_differently(void **state)
{
	enum { POINTS = 10000, CENTRES = 256, D = 16 };
	/* slow (emulated, 20 s): two of the four */
	const unsigned step = cases(4) < 4 ? 3 : 1, iterations = step > 1 ? 3 : 6;
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

/* A lump so dense that rounding of scores would hide its distances. */
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
		assert_true(end.kept.iterations < KMEANS_MOST_ITERATIONS);
		drop(&end.kept);
		forget(&g);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_each_iteration_is_a_plain_one),
		cmocka_unit_test(test_pruning_and_threads_change_nothing),
		cmocka_unit_test(test_points_far_out_hide_nothing),
		cmocka_unit_test(test_of_many_points_too),
		cmocka_unit_test(test_what_is_far_from_zero_loses_nothing),
		cmocka_unit_test(test_of_more_points_than_a_method_can_count),
		cmocka_unit_test(test_of_less_room_than_pruning_needs),
		cmocka_unit_test(test_of_less_room_than_what_follows_needs),
		cmocka_unit_test(test_floats_stop_where_they_decide_nothing),
		cmocka_unit_test(test_threads_have_points_that_are_near),
		cmocka_unit_test(test_workers_may_prune_differently),
		cmocka_unit_test(test_it_ends_when_no_label_changes),
		cmocka_unit_test(test_it_ends_where_scores_would_lead_in_a_circle),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
