/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Values by worker: how a sample reduces them, on one rank and on several, and each worker's value
 * over all samples.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "harness/sample/reductions.h"
#include "ranks.h"

enum { WORKERS = 4 };

static bool same(double a, double b)
{
	return fabs(a - b) <= 1e-12 * fabs(b);
}

/* Worker 2 has no value, which differs from the value 0. */
static void note(struct by_worker *b, double first, double second, double last)
{
	by_worker_note(b, 0, first);
	by_worker_note(b, 1, second);
	by_worker_note(b, 3, last);
}

static double ended(enum metric_kind kind, double first, double second, double last)
{
	struct by_worker *b = by_worker_open(WORKERS, kind);
	double value;

	note(b, first, second, last);
	by_worker_note(b, WORKERS, 100); /* there is no such worker */
	value = by_worker_end(b, NULL);
	assert_true(isnan(by_worker_end(b, NULL)));
	by_worker_close(b);
	return value;
}

static void test_a_sample_is_of_those_that_have_a_value(void **state)
{
	(void)state;
	assert_true(same(ended(M_FAIRNESS, 2, 8, 5), 0.25));
	assert_true(same(ended(M_IMBALANCE, 2, 8, 5), 1.6));
	assert_true(same(ended(M_MEDIAN, 2, 8, 4), 4));
	assert_true(same(ended(M_MOST, 2, 8, 5), 8));
	assert_true(isnan(ended(M_FAIRNESS, 0, 0, 0)));
}

static void test_the_record_has_the_mean_of_each_worker(void **state)
{
	struct by_worker *b = by_worker_open(WORKERS, M_FAIRNESS);
	json_t *values;

	(void)state;
	note(b, 1, 10, 4);
	by_worker_end(b, NULL);
	note(b, 3, 20, 4);
	by_worker_end(b, NULL);
	by_worker_note(b, 1, 60);
	by_worker_end(b, NULL);
	values = by_worker_json(b);
	assert_int_equal(json_array_size(values), WORKERS);
	assert_true(same(json_number_value(json_array_get(values, 0)), 2));
	assert_true(same(json_number_value(json_array_get(values, 1)), 30));
	assert_true(json_is_null(json_array_get(values, 2)));
	assert_true(same(json_number_value(json_array_get(values, 3)), 4));
	json_decref(values);
	by_worker_close(b);
}

/* The record's value of a worker with the samples 1 to 15, 900, 60: more than fit at first. */
static double recorded(enum metric_kind kind)
{
	struct by_worker *b = by_worker_open(1, kind);
	json_t *values;
	double value;

	for (unsigned i = 1; i <= 17; i++) {
		by_worker_note(b, 0, i == 16 ? 900 : i == 17 ? 60 : i);
		by_worker_end(b, NULL);
	}
	values = by_worker_json(b);
	value = json_number_value(json_array_get(values, 0));
	json_decref(values);
	by_worker_close(b);
	return value;
}

static void test_the_record_has_the_median_or_the_most_of_each_worker(void **state)
{
	(void)state;
	assert_true(same(recorded(M_MEDIAN), 9));
	assert_true(same(recorded(M_MOST), 900));
}

static void test_without_samples_there_is_nothing(void **state)
{
	struct by_worker *b = by_worker_open(1, M_FAIRNESS);

	(void)state;
	assert_null(by_worker_json(b));
	by_worker_close(b);
}

/* Rank r has workers with the values 10 r + 1 and 10 r + 2. */
static int on_a_rank(const struct ranks *ranks)
{
	static const enum metric_kind kinds[] = { M_FAIRNESS, M_IMBALANCE, M_MOST };
	static const double expected[] = { 1.0 / 22, 22 / 11.5, 22 };
	int wrong = 0;

	for (unsigned k = 0; k < sizeof(kinds) / sizeof(*kinds); k++) {
		struct by_worker *b = by_worker_open(2, kinds[k]);

		for (unsigned i = 0; i < 2; i++)
			by_worker_note(b, i, 10 * ranks->rank + 1 + i);
		wrong += !same(by_worker_end(b, ranks), expected[k]) << k;
		by_worker_close(b);
	}
	return wrong;
}

static void test_workers_of_all_ranks_count(void **state)
{
	(void)state;
	assert_int_equal(on_all_ranks(on_a_rank, NULL, 0), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_sample_is_of_those_that_have_a_value),
		cmocka_unit_test(test_the_record_has_the_mean_of_each_worker),
		cmocka_unit_test(test_the_record_has_the_median_or_the_most_of_each_worker),
		cmocka_unit_test(test_without_samples_there_is_nothing),
		cmocka_unit_test(test_workers_of_all_ranks_count),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
