/* SPDX-License-Identifier: Apache-2.0 */
/* Order statistics: small cases by hand, and chance. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/arithmetic.h"
#include "base/statistics.h"
#include "cases.h"

/* The median is 0.25. */
static double skewed(uint64_t *state)
{
	const double x = cases_uniform(state);

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
		assert_true(hit > 0.94 * turns); /* 0.95 minus 3 standard deviations of the count */
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
	/* three groups have a range, and no interval */
	assert_true(isnan(e.low) && isnan(e.high) && e.groups == 3);
	assert_true(e.least == 1.01 && e.most == 9.3);
	e = estimate_grouped(x, (unsigned[]){ 0, 1, 2, 3, 4, 5 }, 6);
	assert_true(e.low == 1 && e.high == 9 && e.groups == 6);
	e = estimate_grouped(x, group, 0);
	assert_true(isnan(e.value) && isnan(e.low) && isnan(e.least) && !e.groups);
	e = estimate_grouped((double[]){ NAN, 2 }, group, 2);
	assert_true(e.value == 2 && e.least == 2 && e.groups == 1);
}

/* By the table of the binomial distribution, all looks together miss at most 5 %. */
static void test_the_interval_allows_for_the_looks(void **state)
{
	static const struct {
		unsigned groups, rank; /* of the lower bound */
		double misses;
	} looks[] = { { 6, 1, 2.0 / 64 },
		      { 12, 2, 2 * 13.0 / 4096 },
		      { 24, 6, 2 * 55455.0 / 16777216 },
		      { 48, 15, 0.0055 } };
	double x[48], sum = 0;
	unsigned group[48];

	(void)state;
	for (unsigned i = 0; i < 48; i++)
		x[i] = group[i] = i;
	for (unsigned i = 0; i < 4; i++) {
		const unsigned n = looks[i].groups;
		const struct estimate e = estimate_grouped(x, group, n);

		assert_true(statistics_is_look(n) && !statistics_is_look(n + 1));
		assert_true(e.low == looks[i].rank - 1 && e.high == n - looks[i].rank);
		sum += looks[i].misses;
	}
	assert_true(sum <= 0.05);
	/* plain order statistics, which assume no earlier look, would allow more */
	assert_true(estimate_grouped(x, group, 9).low == 0);
	assert_false(statistics_is_look(0) || statistics_is_look(3) || statistics_is_look(7));
}

static void test_an_interval_reaches_its_half_width_on_both_sides(void **state)
{
	const double x[] = { 100, 101, 101, 101, 103, 110 };
	const unsigned group[] = { 0, 1, 2, 3, 4, 5 };
	const struct estimate e = estimate_grouped(x, group, 6);
	struct estimate wide = estimate_widened(e, 0);

	(void)state;
	/* 100 to 110, and 101: half the width is 5, which is 4.95 % */
	assert_true(fabs(estimate_scatter(e) - 5.0 / 101 * sqrt(6)) < 1e-12);
	assert_true(fabs(estimate_reach(e) - 9.0 / 101) < 1e-12);
	assert_true(fabs(wide.low - 101 / 1.0495) < 1e-3 && wide.high == 110);
	assert_true(wide.value == 101 && wide.least == 100 && wide.most == 110);
	/* 0.8 of the typical half width for so many allocations, and at most 4 times its own */
	wide = estimate_widened(e, 0.2 * sqrt(6));
	assert_true(fabs(wide.low - 101 / 1.16) < 1e-9 && fabs(wide.high - 101 * 1.16) < 1e-9);
	assert_true(fabs(estimate_reach(wide) - 0.16) < 1e-12);
	assert_true(fabs(estimate_reach(estimate_widened(e, 9)) - 20.0 / 101) < 1e-12);
}

static void test_what_has_no_interval_is_not_widened(void **state)
{
	const unsigned group[] = { 0, 1, 2, 3, 4, 5 };
	const struct estimate few = estimate_grouped((double[]){ 1, 2, 3 }, group, 3),
			      zero = estimate_grouped((double[]){ 0, 1, 1, 1, 1, 1 }, group, 6);

	(void)state;
	assert_true(isnan(estimate_widened(few, 1).low) && isnan(estimate_reach(few)));
	assert_true(isnan(estimate_scatter(few)));
	assert_true(estimate_widened(zero, 1).low == 0 && estimate_widened(zero, 1).high == 1);
}

static void test_four_trials_have_a_typical_scatter(void **state)
{
	(void)state;
	assert_true(estimate_typical((double[]){ 1, 2, 3, NAN }, 4) == 0);
	assert_true(estimate_typical((double[]){ 1, 9, 2, NAN, 4 }, 5) == 3);
	assert_true(estimate_typical(NULL, 0) == 0);
}

/* https://en.wikipedia.org/wiki/Spearman%27s_rank_correlation_coefficient: its example, -29/165 */
static void test_rank_correlation(void **state)
{
	const double television[] = { 0, 20, 28, 27, 50, 29, 7, 17, 6, 12 }; /* in order of IQ */

	(void)state;
	assert_true(fabs(statistics_rank_correlation(television, 10) + 29.0 / 165) < 1e-12);
	assert_true(statistics_rank_correlation((double[]){ 3, 3, 3 }, 3) == 0);
	/* equal values share their mean rank: Pearson's of (1, 2, 3, 4) and (1.5, 1.5, 3, 4) */
	assert_true(fabs(statistics_rank_correlation((double[]){ 5, 5, 7, 9 }, 4) - 0.948683) <
		    1e-6);
}

/*
 * Two-tailed critical values at 2 % in the table of Zar, Biostatistical Analysis: 0.943 for 6
 * values, 0.893 for 7, 0.833 for 8, 0.745 for 10, 0.678 for 12, 0.520 for 20.
 */
static void test_a_trend_is_beyond_the_critical_value(void **state)
{
	static const struct {
		size_t n, turned; /* the first `turned` values are in reverse order */
		bool trend;
	} rows[] = {
		{ 5, 0, false },  { 6, 0, true },    { 6, 2, true },  { 6, 3, false },
		{ 7, 2, true },	  { 7, 3, false },   { 8, 3, true },  { 8, 4, false },
		{ 10, 5, true },  { 10, 6, false },  { 12, 6, true }, { 12, 7, false },
		{ 20, 12, true }, { 20, 13, false },
	};

	(void)state;
	for (size_t i = 0; i < LENGTH(rows); i++) {
		double x[20];

		for (size_t j = 0; j < rows[i].n; j++)
			x[j] = (double)(j < rows[i].turned ? rows[i].turned - 1 - j : j);
		if (statistics_has_trend(x, rows[i].n) != rows[i].trend)
			print_error("row %zu: %g\n", i, statistics_rank_correlation(x, rows[i].n));
		assert_true(statistics_has_trend(x, rows[i].n) == rows[i].trend);
		for (size_t j = 0; j < rows[i].n; j++)
			x[j] = -x[j];
		assert_true(statistics_has_trend(x, rows[i].n) == rows[i].trend);
	}
}

/* By chance in 1.7 % of cases for 6 values, 1.9 % for 12 (exact), and 2 % for many. */
static void test_a_trend_is_rarely_chance(void **state)
{
	static const struct {
		size_t n;
		double share;
	} rows[] = { { 6, 12.0 / 720 }, { 12, 0.0185 }, { 24, 0.02 }, { 48, 0.02 } };
	const unsigned turns = cases(20000);
	uint64_t seed = 3;

	(void)state;
	for (size_t i = 0; i < LENGTH(rows); i++) {
		const double share = rows[i].share, error = sqrt(share * (1 - share) / turns);
		unsigned found = 0;

		for (unsigned t = 0; t < turns; t++) {
			double x[48];

			for (size_t j = 0; j < rows[i].n; j++)
				x[j] = cases_uniform(&seed);
			found += statistics_has_trend(x, rows[i].n);
		}
		print_message("# %zu values: %.2f %%\n", rows[i].n, 100.0 * found / turns);
		assert_true(fabs((double)found / turns - share) < 4 * error + 0.001);
	}
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

static void test_what_is_known_has_a_quantile(void **state)
{
	const double x[] = { 5, NAN, 1, 100, INFINITY, 3 };
	const unsigned char left_out[] = { 0, 0, 0, 1, 0, 0 }, all[] = { 1, 1, 1, 1, 1, 1 };

	(void)state;
	assert_true(statistics_quantile_known(x, 6, 0.5) == 4);
	assert_true(statistics_quantile_without(x, left_out, 1, 6, 0.5) == 3);
	assert_true(statistics_quantile_without(x, left_out, 1, 6, 0) == 1);
	assert_true(isnan(statistics_quantile_without(x, all, 1, 6, 0.5)) &&
		    isnan(statistics_quantile_known(x, 0, 0.5)) &&
		    isnan(statistics_quantile_known(x + 1, 1, 0.5)));
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
		cmocka_unit_test(test_the_interval_allows_for_the_looks),
		cmocka_unit_test(test_an_interval_reaches_its_half_width_on_both_sides),
		cmocka_unit_test(test_what_has_no_interval_is_not_widened),
		cmocka_unit_test(test_four_trials_have_a_typical_scatter),
		cmocka_unit_test(test_rank_correlation),
		cmocka_unit_test(test_a_trend_is_beyond_the_critical_value),
		cmocka_unit_test(test_a_trend_is_rarely_chance),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
