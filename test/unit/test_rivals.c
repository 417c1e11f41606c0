/* SPDX-License-Identifier: Apache-2.0 */
/* Centres that barely become the nearest are noticed, whatever the bounds say. */
#include "lloyd.h"

/*
 * A centre arrives at just less than twice the distance between the points and their own centre: it
 * is nearer. With a spread, it is nearer only to some points.
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
			start[c] = c ? c * 0.01 - 1 : 0; /* equally near, on the other side */
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

static void test_a_rival_at_the_edge_is_seen(void **state)
{
	(void)state;
	rival_is_seen(&method_balls, 0);
	rival_is_seen(&method_balls, 0.2);
	rival_is_seen(&method_boxes, 0);
	rival_is_seen(&method_boxes, 0.2);
}

/*
 * Points on a line, evenly from `low` to `high`, and three centres, the third far away; they move a
 * little, and then to other places.
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
	/* the plane between the first and the second centre excludes the second */
	moves_are_seen(&method_balls, 1200, -1.5, 1.5, (double[]){ 1, 3.4, 7 },
		       (double[]){ 1, 1.9, 7 });
	/* one centre leaves as the other arrives; each point has its own room */
	moves_are_seen(&method_balls, 40, -2.5, 0, (double[]){ -1, 1.15, 7 },
		       (double[]){ -1.1, 1.05, 7 });
	moves_are_seen(&method_boxes, 1200, -1.5, 1.5, (double[]){ 1, 3.4, 7 },
		       (double[]){ 1, 1.9, 7 });
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_rival_at_the_edge_is_seen),
		cmocka_unit_test(test_moves_are_seen),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
