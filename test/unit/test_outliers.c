/* SPDX-License-Identifier: Apache-2.0 */
/* Means of clusters that are narrow beside the box of all points. */
#include "lloyd.h"

/* Whether a cluster whose points are equal in the first dimension has its mean there. */
static void equal_values_are_their_mean(const struct given *g, const struct kept *s,
					const double *x)
{
	const unsigned d = g->problem.points.d;

	for (unsigned c = 0; c < g->problem.k; c++) {
		double low = INFINITY, high = -INFINITY;

		for (size_t i = 0; i < g->problem.points.n; i++)
			if (s->label[i] == c) {
				low = fmin(low, x[i * d]);
				high = fmax(high, x[i * d]);
			}
		if (low == high)
			assert_true(s->centre[(size_t)c * d] == low);
	}
}

/*
 * Time stamps in ns, one of them later by a few last bits, which are wider than the other columns:
 * a mean of equal ones that is off by one bit would decide the labels.
 */
static void test_a_mean_of_equal_values_is_the_same_value(void **state)
{
	enum { POINTS = 400, CENTRES = 5, D = 3, ITERATIONS = 3 };
	static const double stamp[] = { 1.7e18 + 123 * 256, 0x1p60, 5e17, 3e51, -1e300 },
			    bits[] = { 1, 2, 4, 1000 };

	(void)state;
	for (unsigned turn = 0; turn < cases(240); turn++) {
		const double all = stamp[turn / LENGTH(bits) % LENGTH(stamp)],
			     more = bits[turn % LENGTH(bits)];
		struct dice dice = { turn, 0 };
		double *x = malloc(sizeof(*x) * POINTS * D),
		       *start = malloc(sizeof(*start) * CENTRES * D);
		struct given g;
		struct job job;

		assert_non_null(x);
		assert_non_null(start);
		for (size_t i = 0; i < POINTS; i++) {
			const double group = (double)(i < CENTRES ? i : below(&dice, CENTRES));

			x[i * D] = all;
			for (unsigned j = 1; j < D; j++)
				x[i * D + j] = group + uniform(&dice) / 16;
		}
		memcpy(start, x, sizeof(*start) * CENTRES * D);
		x[(POINTS - 1) * D] += more * (nextafter(fabs(all), INFINITY) - fabs(all));
		g = problem_of(REAL_DOUBLE, POINTS, D, CENTRES, x, start);
		job = run(&g, PRUNE_AUTO, 1 + turn % 2, ITERATIONS);
		equal_values_are_their_mean(&g, &job.kept, x);
		drop(&job.kept);
		forget(&g);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_mean_of_equal_values_is_the_same_value),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
