/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Order statistics: small cases by hand, coverage of the confidence intervals by simulation.
 */
#include <math.h>
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

/* What the looks may miss, by the table of the binomial distribution, is at most 5 % in all. */
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
	/* plain order statistics would allow more where nobody looked before */
	assert_true(estimate_grouped(x, group, 9).low == 0);
	assert_false(statistics_is_look(0) || statistics_is_look(3) || statistics_is_look(7));
}

/* ---- coverage, by simulation ---- */

enum { MOST = 48, BATCHES = 3, SAMPLES = 5 };

/* What differs from one allocation, batch or sample to the next; a share of the value. */
struct world {
	const char *allocation; /* how it scatters */
	double between;		/* allocations: the scatter */
	double drift;		/* of the machine: its deviation, which lasts for `lasts` batches */
	double lasts;
	double sample;
};

static double effect(const struct world *w, uint64_t *seed)
{
	if (!strcmp(w->allocation, "skewed"))
		return w->between * -log(1 - uniform(seed));
	if (!strcmp(w->allocation, "two modes"))
		return w->between * ((uniform(seed) < 0.6 ? 0 : 4) + 0.1 * normal(seed));
	return w->between * normal(seed);
}

/* The median of an allocation's samples. */
static double allocation_of(const struct world *w, double *wander, uint64_t *seed)
{
	const double own = effect(w, seed), keeps = exp(-1 / w->lasts);
	double x[BATCHES * SAMPLES];

	for (unsigned b = 0; b < BATCHES; b++) {
		*wander = keeps * *wander + w->drift * sqrt(1 - keeps * keeps) * normal(seed);
		for (unsigned i = 0; i < SAMPLES; i++) /* now and then a sample is slow */
			x[b * SAMPLES + i] = exp(own + *wander + w->sample * normal(seed) +
						 (uniform(seed) < 0.1 ? 10 * w->sample : 0));
	}
	statistics_sort(x, BATCHES * SAMPLES);
	return statistics_quantile(x, BATCHES * SAMPLES, 0.5);
}

/* What many allocations would say: the median over them. */
static double truth_of(const struct world *w, uint64_t *seed)
{
	enum { MANY = 20001 };
	double *x = calloc(MANY, sizeof(*x)), wander = 0, median;

	for (unsigned i = 0; i < MANY; i++)
		x[i] = allocation_of(w, &wander, seed);
	statistics_sort(x, MANY);
	median = statistics_quantile(x, MANY, 0.5);
	free(x);
	return median;
}

/* A trial that may take `most` allocations, and ends at the first look at which it is narrow. */
static struct estimate simulate(const struct world *w, unsigned most, double within, uint64_t *seed)
{
	double x[MOST], wander = w->drift * normal(seed);
	unsigned group[MOST];

	for (unsigned n = 1;; n++) {
		struct estimate e;

		x[n - 1] = allocation_of(w, &wander, seed);
		group[n - 1] = n - 1;
		if (!statistics_is_look(n))
			continue;
		e = estimate_grouped(x, group, n);
		if (n >= most || (e.high - e.low) / 2 <= within * e.value)
			return e;
	}
}

/*
 * At least 94 of 100 intervals hold the truth in every profile, although trials end early where the
 * interval happens to be narrow. Drift that lasts longer than a trial moves all of its allocations:
 * no interval of one run can hold it, so it is not among these.
 */
static void test_intervals_cover_in_every_profile(void **state)
{
	static const struct {
		unsigned most;
		double within;
	} profiles[] = { { 6, 0.03 }, { 24, 0.01 }, { MOST, 0.01 } };
	static const struct world worlds[] = {
		{ "normal", 0, 0, 1, 0.02 },	    { "normal", 0.02, 0, 1, 0.02 },
		{ "normal", 0.005, 0.01, 1, 0.02 }, { "skewed", 0.02, 0, 1, 0.02 },
		{ "skewed", 0.2, 0.005, 1, 0.01 },  { "two modes", 0.02, 0, 1, 0.02 },
		{ "two modes", 0.005, 0, 1, 0.02 },
	};
	const unsigned turns = cases(1000);
	const double least = 0.95 - 0.32 / sqrt(turns); /* 0.94 with all turns */
	uint64_t seed = 11;

	(void)state;
	for (size_t j = 0; j < LENGTH(worlds); j++) {
		const double truth = truth_of(&worlds[j], &seed);

		for (size_t i = 0; i < LENGTH(profiles); i++) {
			unsigned hit = 0, groups = 0;
			double width = 0;

			for (unsigned t = 0; t < turns; t++) {
				const struct estimate e = simulate(&worlds[j], profiles[i].most,
								   profiles[i].within, &seed);

				hit += e.low <= truth && truth <= e.high;
				width += (e.high - e.low) / 2 / turns;
				groups += e.groups;
			}
			print_message("# %s %g, drift %g: %.1f %% covered, \u00b1%.1f %%, %.0f "
				      "allocations\n",
				      worlds[j].allocation, worlds[j].between, worlds[j].drift,
				      100.0 * hit / turns, 100 * width, (double)groups / turns);
			assert_true(hit >= least * turns);
		}
	}
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
		cmocka_unit_test(test_the_interval_allows_for_the_looks),
		cmocka_unit_test(test_intervals_cover_in_every_profile),
		cmocka_unit_test(test_the_interval_of_groups_covers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
