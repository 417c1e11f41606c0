/* SPDX-License-Identifier: Apache-2.0 */
/* Histograms: each value near the middle of its bucket, quantiles near those of all values. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/statistics.h"
#include "kit/histogram.h"
#include "kit/random.h"

#define COUNT(array) (sizeof(array) / sizeof(*(array)))

/* Largest relative error of a value: half a bucket. */
#define OFF (1.0 / 128)

static int new_histogram(void **state)
{
	struct histogram *h = aligned_alloc(APART, sizeof(*h));

	if (h)
		memset(h, 0, sizeof(*h));
	*state = h;
	return h ? 0 : -1;
}

static int free_histogram(void **state)
{
	free(*state);
	return 0;
}

static double between_0_and_1(uint64_t i)
{
	return (double)(random_mix(i + 1) >> 11) * 0x1p-53;
}

/* Over the whole range: 2^-64 to 2^64. */
static double any(uint64_t i)
{
	return exp2(128 * between_0_and_1(i) - 64);
}

/* Like the times of an operation, some of which are long, in s. */
static double a_time(uint64_t i)
{
	return 20e-9 / (1.0001 - between_0_and_1(i));
}

static void test_the_middle_of_its_bucket_is_near_each_value(void **state)
{
	(void)state;
	for (uint64_t i = 0; i < 100000; i++) {
		const double value = any(i), middle = histogram_value(histogram_bucket(value));

		if (histogram_bucket(value))
			assert_true(fabs(middle - value) <= OFF * value);
	}
	for (unsigned i = 1; i < HISTOGRAM_BUCKETS; i++) {
		assert_int_equal(histogram_bucket(histogram_value(i)), i);
		assert_true(histogram_value(i - 1) < histogram_value(i));
	}
}

static void test_whole_numbers_up_to_128_have_buckets_of_their_own(void **state)
{
	(void)state;
	for (unsigned i = 1; i <= 128; i++)
		assert_true(histogram_bucket(i - 1) < histogram_bucket(i));
	assert_int_equal(histogram_bucket(128), histogram_bucket(129));
}

static void test_what_is_out_of_range_is_in_the_first_or_last_bucket(void **state)
{
	static const double small[] = { 0, -0.0, 0x1p-64, 0x1p-65, 5e-324 },
			    large[] = { 0x1p64, 1e300, INFINITY, NAN, -1, -INFINITY };

	(void)state;
	for (size_t i = 0; i < COUNT(small) - 2; i++)
		assert_int_equal(histogram_bucket(small[i + 2]), 0);
	assert_int_equal(histogram_bucket(small[0]), 0);
	for (size_t i = 0; i < COUNT(large); i++)
		assert_int_equal(histogram_bucket(large[i]), HISTOGRAM_BUCKETS - 1);
	assert_int_equal(histogram_bucket(nextafter(0x1p64, 0)), HISTOGRAM_BUCKETS - 1);
	assert_true(histogram_value(0) == 0);
}

static void test_quantiles_are_near_those_of_all_values(void **state)
{
	enum { VALUES = 100000 };
	static const double shares[] = { 0.01, 0.5, 0.9, 0.99, 0.999, 0.9999 };
	struct histogram *h = *state;
	double *all = calloc(VALUES, sizeof(*all));

	for (uint64_t i = 0; i < VALUES; i++)
		histogram_add(h, all[i] = a_time(i));
	statistics_sort(all, VALUES);
	assert_int_equal(histogram_total(h), VALUES);
	for (size_t i = 0; i < COUNT(shares); i++) {
		const double exact = all[(size_t)ceil(shares[i] * VALUES) - 1];

		assert_true(fabs(histogram_quantile(h, shares[i]) - exact) <= OFF * exact);
	}
	assert_true(fabs(histogram_quantile(h, 0) - all[0]) <= OFF * all[0]);
	assert_true(fabs(histogram_quantile(h, 1) - all[VALUES - 1]) <= OFF * all[VALUES - 1]);
	free(all);
}

static void test_none_has_no_quantile(void **state)
{
	struct histogram *h = *state;

	assert_int_equal(histogram_total(h), 0);
	assert_true(isnan(histogram_quantile(h, 0.5)));
	histogram_add(h, 0);
	assert_true(histogram_quantile(h, 0.5) == 0);
}

static void test_merged_holds_what_each_held(void **state)
{
	struct histogram *h = *state, *one, *other;

	new_histogram((void **)&one);
	new_histogram((void **)&other);
	for (uint64_t i = 0; i < 20000; i++) {
		histogram_add(h, any(i));
		histogram_add(i % 3 ? one : other, any(i));
	}
	histogram_merge(one, other, 1);
	assert_memory_equal(one, h, sizeof(*h));
	free(one);
	free(other);
}

/* Ticks become seconds. */
static void test_merged_in_another_unit(void **state)
{
	const double s_per_tick = 1 / 2.1e9;
	struct histogram *h = *state, *ticks;

	new_histogram((void **)&ticks);
	for (unsigned i = 0; i < 100; i++)
		histogram_add(ticks, 1000);
	for (unsigned i = 0; i < 100; i++)
		histogram_add(ticks, 90000);
	histogram_merge(h, ticks, s_per_tick);
	assert_int_equal(histogram_total(h), 200);
	assert_true(fabs(histogram_quantile(h, 0.5) - 1000 * s_per_tick) <=
		    2.1 * OFF * 1000 * s_per_tick);
	assert_true(fabs(histogram_quantile(h, 1) - 90000 * s_per_tick) <=
		    2.1 * OFF * 90000 * s_per_tick);
	free(ticks);
}

static void test_cleared_is_as_new(void **state)
{
	struct histogram *h = *state, *fresh;

	new_histogram((void **)&fresh);
	for (uint64_t i = 0; i < 1000; i++)
		histogram_add(h, any(i));
	histogram_add(h, 0);
	histogram_add(h, INFINITY);
	histogram_clear(h);
	assert_memory_equal(h, fresh, sizeof(*h));
	free(fresh);
}

#define WITH_HISTOGRAM(TEST) cmocka_unit_test_setup_teardown(TEST, new_histogram, free_histogram)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_middle_of_its_bucket_is_near_each_value),
		cmocka_unit_test(test_whole_numbers_up_to_128_have_buckets_of_their_own),
		cmocka_unit_test(test_what_is_out_of_range_is_in_the_first_or_last_bucket),
		WITH_HISTOGRAM(test_quantiles_are_near_those_of_all_values),
		WITH_HISTOGRAM(test_none_has_no_quantile),
		WITH_HISTOGRAM(test_merged_holds_what_each_held),
		WITH_HISTOGRAM(test_merged_in_another_unit),
		WITH_HISTOGRAM(test_cleared_is_as_new),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
