/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Values by worker: fairness and imbalance of a sample, on one rank and on several, and each
 * worker's mean over all samples.
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

/* Worker 2 has no value, which is not the same as 0. */
static void note(struct by_worker *b, double first, double second, double last)
{
	by_worker_note(b, 0, first);
	by_worker_note(b, 1, second);
	by_worker_note(b, 3, last);
}

static void test_least_most_and_mean_are_of_those_that_have_a_value(void **state)
{
	struct by_worker *b = by_worker_open(WORKERS);

	(void)state;
	note(b, 2, 8, 5);
	assert_true(same(by_worker_end(b, M_FAIRNESS, NULL), 0.25));
	note(b, 2, 8, 5);
	assert_true(same(by_worker_end(b, M_IMBALANCE, NULL), 1.6));
	by_worker_note(b, WORKERS, 100); /* there is no such worker */
	assert_true(isnan(by_worker_end(b, M_FAIRNESS, NULL)));
	note(b, 0, 0, 0);
	assert_true(isnan(by_worker_end(b, M_FAIRNESS, NULL)));
	by_worker_close(b);
}

static void test_the_record_has_the_mean_of_each_worker(void **state)
{
	struct by_worker *b = by_worker_open(WORKERS);
	json_t *values;

	(void)state;
	note(b, 1, 10, 4);
	by_worker_end(b, M_FAIRNESS, NULL);
	note(b, 3, 20, 4);
	by_worker_end(b, M_FAIRNESS, NULL);
	by_worker_note(b, 1, 60);
	by_worker_end(b, M_FAIRNESS, NULL);
	values = by_worker_json(b);
	assert_int_equal(json_array_size(values), WORKERS);
	assert_true(same(json_number_value(json_array_get(values, 0)), 2));
	assert_true(same(json_number_value(json_array_get(values, 1)), 30));
	assert_true(json_is_null(json_array_get(values, 2)));
	assert_true(same(json_number_value(json_array_get(values, 3)), 4));
	json_decref(values);
	by_worker_close(b);
}

static void test_without_samples_there_is_nothing(void **state)
{
	struct by_worker *b = by_worker_open(1);

	(void)state;
	assert_null(by_worker_json(b));
	by_worker_close(b);
}

/* Rank r has workers with 10 r + 1 and 10 r + 2. */
static int on_a_rank(const struct ranks *ranks)
{
	struct by_worker *b = by_worker_open(2);
	double fairness, imbalance;

	for (unsigned i = 0; i < 2; i++)
		by_worker_note(b, i, 10 * ranks->rank + 1 + i);
	fairness = by_worker_end(b, M_FAIRNESS, ranks);
	for (unsigned i = 0; i < 2; i++)
		by_worker_note(b, i, 10 * ranks->rank + 1 + i);
	imbalance = by_worker_end(b, M_IMBALANCE, ranks);
	by_worker_close(b);
	return !same(fairness, 1.0 / 22) + 2 * !same(imbalance, 22 / 11.5);
}

static void test_workers_of_all_ranks_count(void **state)
{
	(void)state;
	assert_int_equal(on_all_ranks(on_a_rank, NULL, 0), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_least_most_and_mean_are_of_those_that_have_a_value),
		cmocka_unit_test(test_the_record_has_the_mean_of_each_worker),
		cmocka_unit_test(test_without_samples_there_is_nothing),
		cmocka_unit_test(test_workers_of_all_ranks_count),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
