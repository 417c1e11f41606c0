/* SPDX-License-Identifier: Apache-2.0 */
/* A metric that is a distribution: a sample has its median, a trial all of its values. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "harness/sample/reductions.h"
#include "ranks.h"

static bool near(double a, double b)
{
	return fabs(a - b) <= b / 60;
}

/* Adds the values 1 to n. */
static void add_up_to(struct distribution *d, unsigned n, double unit)
{
	struct histogram *h = aligned_alloc(APART, sizeof(*h));

	memset(h, 0, sizeof(*h));
	for (unsigned i = 1; i <= n; i++)
		histogram_add(h, i);
	distribution_add(d, h, unit);
	free(h);
}

static double of(const json_t *o, const char *key)
{
	return json_number_value(json_object_get(o, key));
}

/* The sum of a run of buckets; their counts follow the number of the first bucket. */
static uint64_t sum_of(const json_t *run)
{
	uint64_t n = 0;

	for (size_t i = 1; i < json_array_size(run); i++)
		n += (uint64_t)json_integer_value(json_array_get(run, i));
	return n;
}

static void test_median_of_a_sample_and_quantiles_of_all(void **state)
{
	struct distribution *d = distribution_open();
	const json_t *q, *bucket;
	uint64_t n = 0;
	json_t *o;
	size_t i;

	(void)state;
	add_up_to(d, 1000, 1e-9);
	add_up_to(d, 1000, 1e-9);
	assert_true(near(distribution_end(d, NULL), 500e-9));
	add_up_to(d, 100, 1e-9);
	assert_true(near(distribution_end(d, NULL), 50e-9));
	assert_true(isnan(distribution_end(d, NULL)));
	o = distribution_json(d);
	q = json_object_get(o, "quantiles");
	assert_int_equal(json_integer_value(json_object_get(o, "n")), 2100);
	assert_int_equal(json_object_size(q), 5);
	assert_true(near(of(q, "0.5"), 475e-9) && near(of(q, "0.9"), 895e-9) &&
		    near(of(q, "0.99"), 989e-9) && near(of(q, "0.999"), 999e-9) &&
		    near(of(q, "1"), 1000e-9));
	json_array_foreach(json_object_get(o, "buckets"), i, bucket)
		n += sum_of(bucket);
	assert_int_equal(n, 2100);
	json_decref(o);
	distribution_close(d);
}

static void test_without_values_there_is_nothing(void **state)
{
	struct distribution *d = distribution_open();

	(void)state;
	assert_null(distribution_json(d));
	distribution_close(d);
}

/* Ranks have values in different octaves: 1 to 10, 1 to 100 and 1 to 1000 have the median 445. */
static int on_a_rank(const struct ranks *ranks)
{
	struct distribution *d = distribution_open();
	double median;
	json_t *o;
	json_int_t n;

	add_up_to(d, ranks->rank == 0 ? 10 : ranks->rank == 1 ? 100 : 1000, 1);
	median = distribution_end(d, ranks);
	o = distribution_json(d);
	n = json_integer_value(json_object_get(o, "n"));
	json_decref(o);
	distribution_close(d);
	return !near(median, 445) + 2 * (n != 1110);
}

static void test_values_of_all_ranks_count(void **state)
{
	(void)state;
	assert_int_equal(on_all_ranks(on_a_rank, NULL, 0), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_median_of_a_sample_and_quantiles_of_all),
		cmocka_unit_test(test_without_values_there_is_nothing),
		cmocka_unit_test(test_values_of_all_ranks_count),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
