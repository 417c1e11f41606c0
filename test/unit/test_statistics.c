/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Order statistics: small cases by hand, coverage of the confidence intervals by simulation, modes
 * from constructed distributions.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "base/statistics.h"

static double uniform(uint64_t *state)
{
	*state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (double)(*state >> 11) / 0x1p53;
}

static double normal(uint64_t *state)
{
	return sqrt(-2 * log(1 - uniform(state))) * cos(2 * M_PI * uniform(state));
}

/* The median is 0.25. */
static double skewed(uint64_t *state)
{
	const double x = uniform(state);

	return x * x;
}

static void test_quantile(void **state)
{
	const double x[] = { 1, 2, 4, 8 };

	(void)state;
	assert_true(statistics_quantile(x, 4, 0) == 1);
	assert_true(statistics_quantile(x, 4, 1) == 8);
	assert_true(statistics_quantile(x, 4, 0.5) == 3);
	assert_true(fabs(statistics_quantile(x, 4, 0.25) - 1.75) < 1e-12);
	assert_true(statistics_quantile(x, 1, 0.9) == 1);
}

static void test_interval_of_few_values(void **state)
{
	const double x[] = { 1, 2, 3, 4, 5, 6, 7, 8, 9 };
	double low = -1, high = -1;

	(void)state;
	for (size_t n = 0; n < LEAST_VALUES; n++)
		assert_false(statistics_median_interval(x, n, &low, &high));
	assert_true(statistics_median_interval(x, 6, &low, &high));
	assert_true(low == 1 && high == 6);
	/* the table of Hahn and Meeker: ranks 2 and 8 */
	assert_true(statistics_median_interval(x, 9, &low, &high));
	assert_true(low == 2 && high == 8);
}

/* The interval holds the true median in at least 95 % of cases; with many values not much more. */
static void test_interval_covers(void **state)
{
	uint64_t seed = 1;

	(void)state;
	for (size_t n = 6; n <= 200; n *= 2) {
		unsigned hit = 0, turns = 4000;
		double x[200], low, high;

		for (unsigned t = 0; t < turns; t++) {
			for (size_t i = 0; i < n; i++)
				x[i] = skewed(&seed); /* coverage holds for any distribution */
			statistics_sort(x, n);
			assert_true(statistics_median_interval(x, n, &low, &high));
			hit += low <= 0.25 && 0.25 <= high;
		}
		assert_true(hit > 0.94 * turns); /* 0.95 less 3 standard deviations of the count */
		assert_true(n < 50 || hit < 0.99 * turns);
	}
}

static void test_interval_of_many_values(void **state)
{
	const size_t n = 1000000;
	const double middle = (double)n / 2;
	double *x = calloc(n, sizeof(*x)), low, high;

	(void)state;
	for (size_t i = 0; i < n; i++)
		x[i] = (double)i;
	assert_true(statistics_median_interval(x, n, &low, &high));
	/* 1.96 sqrt(n) / 2 */
	assert_true(fabs(low - (middle - 980)) < 3 && fabs(high - (middle + 980)) < 3);
	free(x);
}

static void test_groups_count_alike(void **state)
{
	/* one allocation that differs, with many batches, against two that agree */
	const double x[] = { 1, 1.01, 1.02, 1.1, 1.11, 9, 9.1, 9.2, 9.3, 9.4, 9.5, 9.6 };
	const unsigned group[] = { 0, 0, 0, 1, 1, 2, 2, 2, 2, 2, 2, 2 };
	struct estimate e = estimate_grouped(x, group, 12);

	(void)state;
	assert_true(fabs(e.value - 1.105) < 1e-12);
	assert_true(e.low <= 1.01 && e.high >= 9.3); /* holds every group's median */
	e = estimate_grouped(x, group, 5);
	/* too few values */
	assert_true(fabs(e.value - (1.01 + 1.105) / 2) < 1e-12 && isnan(e.low));
	e = estimate_grouped(x, (unsigned[]){ 0, 1, 2, 3, 4, 5 }, 6);
	assert_true(e.low == 1 && e.high == 9); /* six groups: their own interval */
	e = estimate_grouped(x, group, 0);
	assert_true(isnan(e.value) && isnan(e.low));
	e = estimate_grouped((double[]){ NAN, 2 }, group, 2);
	assert_true(e.value == 2);
}

/* Scatter between allocations but not within them, which an interval over batches would miss. */
static void test_the_interval_of_groups_covers(void **state)
{
	uint64_t seed = 5;
	unsigned hit = 0, turns = 1000;

	(void)state;
	for (unsigned t = 0; t < turns; t++) {
		double x[80], low = 0;
		unsigned group[80];
		struct estimate e;

		for (unsigned i = 0; i < 80; i++) {
			if (i % 10 == 0)
				low = normal(&seed);
			x[i] = 100 + low + 0.01 * normal(&seed);
			group[i] = i / 10;
		}
		e = estimate_grouped(x, group, 80);
		hit += e.low <= 100 && 100 <= e.high;
	}
	assert_true(hit > 0.94 * turns);
}

static void test_mean_and_deviation(void **state)
{
	const double x[] = { 2, 4, 4, 4, 5, 5, 7, 9 };

	(void)state;
	assert_true(statistics_mean(x, 8) == 5);
	assert_true(fabs(statistics_deviation(x, 8) - sqrt(32.0 / 7)) < 1e-12);
	assert_true(statistics_deviation(x, 1) == 0);
	assert_true(isnan(statistics_mean(x, 0)));
}

static unsigned humps_of(double (*draw)(uint64_t *), size_t n)
{
	double *x = calloc(n, sizeof(*x));
	uint64_t seed = n;
	unsigned found;
	size_t low;

	for (size_t i = 0; i < n; i++)
		x[i] = draw(&seed);
	statistics_sort(x, n);
	low = statistics_modes(x, n);
	/* the lower mode ends where the gap is */
	assert_true(!low || x[low] - x[low - 1] > 0.05 * x[0]);
	found = low ? 2 : 1;
	free(x);
	return found;
}

static double one_hump(uint64_t *seed)
{
	return 100 + 5 * normal(seed);
}

static double even(uint64_t *seed)
{
	return 100 + 50 * uniform(seed);
}

static double two_humps(uint64_t *seed)
{
	return (uniform(seed) < 0.3 ? 23 : 115) + normal(seed);
}

static double close_humps(uint64_t *seed) /* two, but within 5 % of each other: not bimodal */
{
	return (uniform(seed) < 0.5 ? 100 : 102) + 0.1 * normal(seed);
}

static double rare(uint64_t *seed) /* a few outliers are not a mode */
{
	return (uniform(seed) < 0.02 ? 1000 : 100) + normal(seed);
}

static void test_humps(void **state)
{
	(void)state;
	for (size_t n = 40; n < 5000; n *= 3) {
		assert_int_equal(humps_of(one_hump, n), 1);
		assert_int_equal(humps_of(even, n), 1);
		assert_int_equal(humps_of(two_humps, n), 2);
		assert_int_equal(humps_of(close_humps, n), 1);
		assert_int_equal(humps_of(rare, n), 1);
	}
	assert_int_equal(humps_of(two_humps, 19), 1);
}

static void test_what_is_known_has_a_quantile(void **state)
{
	const double x[] = { 5, NAN, 1, 100, INFINITY, 3 };
	const unsigned char left_out[] = { 0, 0, 0, 1, 0, 0 }, all[] = { 1, 1, 1, 1, 1, 1 };

	(void)state;
	assert_true(statistics_quantile_known(x, NULL, 6, 0.5) == 4);
	assert_true(statistics_quantile_known(x, left_out, 6, 0.5) == 3);
	assert_true(statistics_quantile_known(x, left_out, 6, 0) == 1);
	assert_true(isnan(statistics_quantile_known(x, all, 6, 0.5)) &&
		    isnan(statistics_quantile_known(x, NULL, 0, 0.5)) &&
		    isnan(statistics_quantile_known(x + 1, NULL, 1, 0.5)));
	assert_true(x[0] == 5 && x[5] == 3); /* x is not sorted in place */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_is_known_has_a_quantile),
		cmocka_unit_test(test_quantile),
		cmocka_unit_test(test_interval_of_few_values),
		cmocka_unit_test(test_interval_covers),
		cmocka_unit_test(test_interval_of_many_values),
		cmocka_unit_test(test_mean_and_deviation),
		cmocka_unit_test(test_groups_count_alike),
		cmocka_unit_test(test_the_interval_of_groups_covers),
		cmocka_unit_test(test_humps),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
