/* SPDX-License-Identifier: Apache-2.0 */
/* The sorted array of search, its ranges, and its keys: their order and distribution. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "bench/search/searchers.h"
#include "bounded.h"
#include "cases.h"
#include "kit/random.h"

#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))

/* ---- elements and keys ---- */

static void elements_are_sorted_and_spread(void **state)
{
	static const size_t sizes[] = { 1, 2, 3, 7, 100, 12345 };

	(void)state;
	for (unsigned width = 4; width <= 8; width += 4)
		for (size_t s = 0; s < LENGTH(sizes); s++) {
			const size_t n = sizes[s];
			const struct recipe r = recipe_of(1, n, width, DISTRIBUTION_UNIFORM, 0);
			uint64_t *array = calloc(n + 3, sizeof(*array));

			assert_non_null(array);
			/* in parts, as threads do */
			recipe_fill_array(&r, array, 0, n, n / 2, n + 3);
			recipe_fill_array(&r, array, 0, n, 0, n / 2);
			assert_true(key_get(&r, array, 0) == 0);
			assert_true(n == 1 || key_get(&r, array, n - 1) == recipe_largest(&r));
			for (size_t i = 0; i < n; i++) {
				assert_true(i == 0 ||
					    key_get(&r, array, i - 1) < key_get(&r, array, i));
				assert_int_equal(recipe_about(&r, key_get(&r, array, i)), i);
			}
			for (size_t i = n; i < n + 3; i++)
				assert_true(key_get(&r, array, i) == recipe_largest(&r));
			/* a rank's part */
			recipe_fill_array(&r, array, n / 3, n / 2, 0, n / 2 + 1);
			for (size_t i = 0; i < n / 2; i++)
				assert_true(key_get(&r, array, i) == recipe_element(&r, n / 3 + i));
			assert_true(key_get(&r, array, n / 2) == recipe_largest(&r));
			free(array);
		}
}

static void streams_begin_with_extremes(void **state)
{
	static const double skew[] = { 0, 1, 0.9 };

	(void)state;
	for (unsigned width = 4; width <= 8; width += 4)
		for (unsigned d = DISTRIBUTION_UNIFORM; d <= DISTRIBUTION_HOT; d++) {
			const struct recipe r = recipe_of(1, 1000, width, d, skew[d]);
			uint64_t keys[100];

			recipe_fill_stream(&r, keys, 3, 100);
			assert_true(key_get(&r, keys, 0) == 0 &&
				    key_get(&r, keys, 1) == recipe_largest(&r));
			for (size_t i = 0; i < 100; i++)
				assert_true(key_get(&r, keys, i) == recipe_key(&r, 3, i));
			assert_true(recipe_key(&r, 3, 50) != recipe_key(&r, 4, 50) ||
				    d == DISTRIBUTION_ZIPF);
		}
}

/*
 * The mean of chi-square plus 6 standard deviations: a correct distribution exceeds this bound once
 * in a million.
 */
static bool is_likely(const double *expected, const unsigned *found, unsigned n)
{
	double chi = 0;

	for (unsigned i = 0; i < n; i++)
		chi += (found[i] - expected[i]) * (found[i] - expected[i]) / expected[i];
	return chi < n - 1 + 6 * sqrt(2.0 * (n - 1));
}

static void zipf_is_exact(void **state)
{
	static const double exponents[] = { 0.1, 0.5, 0.99, 1, 1.01, 1.5, 2, 3 };
	enum { MOST = 60, DRAWS = 100000 };
	const unsigned draws = cases(DRAWS);

	(void)state;
	for (size_t e = 0; e < LENGTH(exponents); e++)
		for (unsigned n = 1; n <= MOST; n += n < 4 ? 1 : 28) {
			const struct zipf z = zipf_of(n, exponents[e]);
			double expected[MOST], sum = 0;
			unsigned found[MOST] = { 0 };

			for (unsigned r = 1; r <= n; r++)
				sum += expected[r - 1] = pow(r, -exponents[e]);
			for (unsigned r = 0; r < n; r++)
				expected[r] *= draws / sum;
			for (unsigned i = 0; i < draws; i++) {
				const uint64_t r =
					zipf_draw(&z, random_mix((uint64_t)i * 1000 + n));

				assert_in_range(r, 1, n);
				found[r - 1]++;
			}
			if (n > 1 && !is_likely(expected, found, n))
				fail_msg("%u numbers, exponent %g: not the probabilities of Zipf's "
					 "law",
					 n, exponents[e]);
		}
}

/* With many numbers: in bins between powers of two, whose weights are summed exactly. */
static void zipf_is_exact_of_many(void **state)
{
	enum { N = 1 << 16, BINS = 17, DRAWS = 400000 };
	static const double exponents[] = { 0.5, 1, 1.3 };
	const unsigned draws = cases(DRAWS);

	(void)state;
	for (size_t e = 0; e < LENGTH(exponents); e++) {
		const struct zipf z = zipf_of(N, exponents[e]);
		double expected[BINS] = { 0 }, sum = 0;
		unsigned found[BINS] = { 0 };

		for (unsigned r = 1; r <= N; r++) {
			const double weight = pow(r, -exponents[e]);

			sum += weight;
			expected[31 - __builtin_clz(r)] += weight;
		}
		for (unsigned i = 0; i < BINS; i++)
			expected[i] *= draws / sum;
		for (unsigned i = 0; i < draws; i++)
			found[31 - __builtin_clz((unsigned)zipf_draw(
					   &z, random_mix((i + UINT64_C(1)) << 20)))]++;
		assert_true(is_likely(expected, found, BINS - 1)); /* the last bin has one number */
	}
}

/* With Zipf every key is an element; the first element is the most frequent key. */
static void zipf_keys_are_elements(void **state)
{
	enum { N = 1000, KEYS = 5000 };
	const struct recipe r = recipe_of(5, N, 4, DISTRIBUTION_ZIPF, 1);
	uint32_t array[N], keys[KEYS];
	unsigned first = 0;

	(void)state;
	recipe_fill_array(&r, array, 0, N, 0, N);
	recipe_fill_stream(&r, keys, 0, KEYS);
	for (size_t i = 0; i < KEYS; i++) {
		const size_t at = search_reference(&r, array, keys[i]);

		assert_true(at < N && array[at] == keys[i]);
		first += at == 0;
	}
	assert_in_range(first, KEYS / 7.485 * 0.8, KEYS / 7.485 * 1.2); /* 1 + 1/2 + ... + 1/1000 */
}

static void hot_keys_are_in_the_first_tenth(void **state)
{
	enum { N = 1000, KEYS = 20000 };
	static const double shares[] = { 0, 0.5, 0.9, 1 };

	(void)state;
	for (unsigned width = 4; width <= 8; width += 4)
		for (size_t s = 0; s < LENGTH(shares); s++) {
			const struct recipe r = recipe_of(5, N, width, DISTRIBUTION_HOT, shares[s]);
			unsigned hot = 0, firsts = 0;

			for (size_t i = 2; i < KEYS; i++) {
				const size_t about = recipe_about(&r, recipe_key(&r, 0, i));

				hot += about < N / TENTH;
				firsts += about < N / TENTH / 2;
			}
			assert_true(fabs((double)hot / KEYS - shares[s]) < 0.02);
			/* hot keys are uniform within the first tenth */
			assert_true(fabs((double)firsts / KEYS - shares[s] / 2) < 0.02);
		}
}

/* ---- ranges ---- */

static void check_ranges(const struct ranges *r, const struct recipe *recipe)
{
	assert_int_equal(r->begin[0], 0);
	assert_int_equal(r->begin[r->parts], recipe->n);
	for (unsigned i = 0; i < r->parts; i++)
		assert_true(r->begin[i] < r->begin[i + 1]);
	assert_true(r->slots >= r->parts && (r->slots & (r->slots - 1)) == 0);
	for (unsigned i = 1; i < r->slots; i++)
		assert_true(key_get(recipe, r->limit, i - 1) ==
			    (i < r->parts ? recipe_element(recipe, r->begin[i] - 1)
					  : recipe_largest(recipe)));
}

static void ranges_are_as_long_or_as_heavy(void **state)
{
	static const unsigned parts[] = { 1, 2, 3, 7, 8, 9, 100 };
	static const double skew[] = { 0, 1, 0.9 };

	(void)state;
	for (unsigned width = 4; width <= 8; width += 4)
		for (size_t p = 0; p < LENGTH(parts); p++)
			for (unsigned d = DISTRIBUTION_UNIFORM; d <= DISTRIBUTION_HOT; d++) {
				const struct recipe few = recipe_of(5, parts[p], width, d, skew[d]),
						    many = recipe_of(5, 100000, width, d, skew[d]);
				struct ranges r;

				assert_int_equal(ranges_even(&r, &few, parts[p]), 0);
				check_ranges(&r, &few);
				ranges_free(&r);
				assert_int_equal(ranges_weighted(&r, &few, parts[p], 1 << 10), 0);
				check_ranges(&r, &few);
				ranges_free(&r);
				assert_int_equal(ranges_even(&r, &many, parts[p]), 0);
				check_ranges(&r, &many);
				for (unsigned i = 0; i < parts[p]; i++)
					assert_in_range(r.begin[i + 1] - r.begin[i],
							100000 / parts[p], 100000 / parts[p] + 1);
				ranges_free(&r);
				assert_int_equal(ranges_weighted(&r, &many, parts[p], 1 << 14), 0);
				check_ranges(&r, &many);
				ranges_free(&r);
			}
}

/*
 * With hot keys the busiest of 8 owners gets over 85 % of them from even ranges, and less than 1.1
 * times its share from weighted ones.
 */
static void weighted_ranges_are_as_heavy(void **state)
{
	enum { PARTS = 8, KEYS = 1 << 16, N = 100000 };
	const struct recipe r = recipe_of(5, N, 4, DISTRIBUTION_HOT, 0.9);
	uint32_t *keys = calloc(KEYS, sizeof(*keys)), cut[PARTS + 1], next[PARTS];
	struct ranges even, weighted;
	unsigned most = 0;

	(void)state;
	assert_non_null(keys);
	recipe_fill_stream(&r, keys, 0, KEYS);
	assert_int_equal(ranges_even(&even, &r, PARTS), 0);
	assert_int_equal(ranges_weighted(&weighted, &r, PARTS, 1 << 14), 0);
	partition_32(keys, KEYS, &even, cut, next);
	assert_true(cut[1] > 0.85 * KEYS);
	partition_32(keys, KEYS, &weighted, cut, next);
	for (unsigned i = 0; i < PARTS; i++)
		most = cut[i + 1] - cut[i] > most ? cut[i + 1] - cut[i] : most;
	assert_true(most < 1.1 * KEYS / PARTS);
	ranges_free(&even);
	ranges_free(&weighted);
	free(keys);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(elements_are_sorted_and_spread),
		cmocka_unit_test(streams_begin_with_extremes),
		cmocka_unit_test(zipf_is_exact),
		cmocka_unit_test(zipf_is_exact_of_many),
		cmocka_unit_test(zipf_keys_are_elements),
		cmocka_unit_test(hot_keys_are_in_the_first_tenth),
		cmocka_unit_test(ranges_are_as_long_or_as_heavy),
		cmocka_unit_test(weighted_ranges_are_as_heavy),
	};

	return cmocka_run_group_tests(tests, begin_bounded, end_bounded);
}
