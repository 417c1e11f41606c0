/* SPDX-License-Identifier: Apache-2.0 */
/* Sums that do not depend on the order. */
#include "lloyd.h"

static void test_no_sum_can_overflow(void **state)
{
	(void)state;
	for (int bits = 0; bits <= 60; bits++)
		for (int more = -1; more <= 1; more++) {
			const size_t points = (size_t)((UINT64_C(1) << bits) + (uint64_t)more);
			struct dice dice = { (uint64_t)bits, 0 };

			for (int i = 0; points && i < 50; i++) {
				const double most = ldexp(i ? uniform(&dice) : 1,
							  (int)below(&dice, 1900) - 1000);
				const double scale = sum_scale(most, points);
				const int64_t high = sum_term(most, scale) - SUM_MAGIC_BITS,
					      low = sum_term(-most, scale) - SUM_MAGIC_BITS;

				assert_true((__int128)high * (__int128)points <= (__int128)1 << 62);
				assert_int_equal(low, -high);
				assert_true(high >= INT64_C(1) << (sum_bits(points) -
								   (sum_bits(points) > 0)) ||
					    most < 0x1p-900);
			}
		}
}

static void test_terms_are_the_nearest_integers(void **state)
{
	struct dice dice = { 1, 0 };

	(void)state;
	assert_int_equal(sum_term(0, 1) - SUM_MAGIC_BITS, 0);
	assert_int_equal(sum_term(0x1p51, 1) - SUM_MAGIC_BITS, INT64_C(1) << 51);
	assert_int_equal(sum_term(-0x1p51, 1) - SUM_MAGIC_BITS, -(INT64_C(1) << 51));
	for (int i = 0; i < 10000; i++) {
		const double most = ldexp(0.5 + uniform(&dice) / 2, (int)below(&dice, 100) - 50),
			     scale = sum_scale(most, 1 + below(&dice, 1u << 30));
		const double x = most * (2 * uniform(&dice) - 1);

		assert_int_equal(sum_term(x, scale) - SUM_MAGIC_BITS, llrint(x * scale));
	}
}

/* Points come and go; sums of 64 bits may wrap around and back. */
static void test_sums_by_changes(void **state)
{
	enum { D = 11, K = 5, POINTS = 300 };
	int64_t changing[D * K + K + 2], once[D * K + K + 2];
	struct sums a = sums_at(changing, D, K), b = sums_at(once, D, K);
	double x[POINTS][D], scale[D];
	uint32_t label[POINTS];
	struct dice dice = { 3, 0 };

	(void)state;
	assert_int_equal(sums_length(D, K), LENGTH(changing));
	sums_clear(&a);
	sums_clear(&b);
	for (unsigned j = 0; j < D; j++)
		scale[j] = sum_scale(1, POINTS);
	for (unsigned i = 0; i < POINTS; i++) {
		for (unsigned j = 0; j < D; j++)
			x[i][j] = 2 * uniform(&dice) - 1;
		sums_move_double(&a, x[i], scale, SUM_NONE, label[i] = below(&dice, K));
	}
	for (unsigned turn = 0; turn < 10000; turn++) {
		const unsigned i = below(&dice, POINTS), to = below(&dice, K);

		sums_move_double(&a, x[i], scale, label[i], to);
		label[i] = to;
	}
	for (unsigned i = 0; i < POINTS; i++)
		sums_move_double(&b, x[i], scale, SUM_NONE, label[i]);
	assert_int_equal(*a.moves, POINTS + 10000);
	*a.moves = *b.moves;
	assert_memory_equal(changing, once, sizeof(once));
	for (unsigned c = 0; c < K; c++) {
		sums_remove_magic(&b, c);
		for (unsigned j = 0; j < D; j++) {
			int64_t sum = 0;

			for (unsigned i = 0; i < POINTS; i++)
				sum += label[i] == c ? llrint(x[i][j] * scale[j]) : 0;
			assert_int_equal(b.sum[c * D + j], sum);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_no_sum_can_overflow),
		cmocka_unit_test(test_terms_are_the_nearest_integers),
		cmocka_unit_test(test_sums_by_changes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
