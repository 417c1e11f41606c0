/* SPDX-License-Identifier: Apache-2.0 */
/* Generated points: the same however they are divided, and random as specified. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "bench/kmeans/kmeans.h"

static const struct recipe uniform = { .shape = SHAPE_UNIFORM, .seed = 7 },
			   blobs = { .shape = SHAPE_BLOBS, .seed = 7, .k = 5, .spread = 0.5 };

static struct points made(const struct recipe *r, enum real real, size_t first, size_t n,
			  unsigned d)
{
	struct points p = { real, n, d, calloc(n * d, real_bytes(real)) };

	assert_non_null(p.x);
	generate_points(r, first, &p);
	return p;
}

static double value(const struct points *p, size_t row, unsigned column)
{
	return real_get(p->real, p->x, row * p->d + column);
}

/*
 * Records have seeds, so a seed must always give the same numbers. (Another program computed these,
 * too.)
 */
static void test_a_seed_stands_for_its_points(void **state)
{
	struct points p = made(&uniform, REAL_DOUBLE, 1000, 1, 2),
		      q = made(&blobs, REAL_DOUBLE, 1000, 1, 2);

	(void)state;
	assert_true(value(&p, 0, 0) == 0x1.51860f53a9e4cp-2 &&
		    value(&p, 0, 1) == 0x1.de507ac4795ep-6);
	assert_true(fabs(value(&q, 0, 0) - 6.0513789012635666) < 1e-12 &&
		    fabs(value(&q, 0, 1) - 2.4961080694822693) < 1e-12);
	free(p.x);
	free(q.x);
}

/*
 * A row is the same wherever generation starts, in either type, and with more or fewer dimensions.
 * Uniform floats are rounded down, so that none is 1.
 */
static void test_rows_do_not_depend_on_the_division(void **state)
{
	(void)state;
	for (unsigned turn = 0; turn < 4; turn++) {
		const struct recipe *r = turn % 2 ? &blobs : &uniform;
		const enum real real = turn / 2 ? REAL_FLOAT : REAL_DOUBLE;
		struct points whole = made(r, REAL_DOUBLE, 0, 1000, 5),
			      part = made(r, real, 300, 100, 4);

		for (size_t i = 0; i < 100; i++)
			for (unsigned j = 0; j < 4; j++) {
				const double x = value(&whole, 300 + i, j), y = value(&part, i, j);

				if (real == REAL_DOUBLE)
					assert_true(y == x);
				else if (r->shape == SHAPE_BLOBS)
					assert_true(y == (float)x);
				else
					assert_true(y <= x && x - y < 0x1p-24);
			}
		free(whole.x);
		free(part.x);
	}
}

/*
 * Moments of z, the values in units of their standard deviation, must be those of independent
 * values, within 5 standard errors. Seeds are fixed, so a test that passes once always does.
 * Neighbours are neighbours in a row (both values of a Box-Muller pair, and of two pairs) and in a
 * column.
 */
static void moments(const struct points *p, double mean, double deviation, double fourth)
{
	for (unsigned j = 0; j < p->d; j++) {
		double sum[5] = { 0 }; /* sums of z, z^2, z^4, and products with the neighbours */
		/*
		 * sum of products of z^2 - 1 and the neighbour's z^2 - 1: shows pairs that share a
		 * radius
		 */
		double squares = 0;

		for (size_t i = 0; i + 1 < p->n; i++) {
			const double z = (value(p, i, j) - mean) / deviation,
				     right = (value(p, i, (j + 1) % p->d) - mean) / deviation,
				     below = (value(p, i + 1, j) - mean) / deviation;

			sum[0] += z;
			sum[1] += z * z;
			sum[2] += z * z * z * z;
			sum[3] += z * right;
			sum[4] += z * below;
			squares += (z * z - 1) * (right * right - 1);
		}
		assert_true(fabs(sum[0]) < 5 * sqrt((double)p->n));
		assert_true(fabs(sum[1] / (double)p->n - 1) <
			    5 * sqrt((fourth - 1) / (double)p->n));
		assert_true(fabs(sum[2] / (double)p->n - fourth) < 5 * sqrt(96 / (double)p->n));
		assert_true(fabs(sum[3]) < 5 * sqrt((double)p->n));
		assert_true(fabs(sum[4]) < 5 * sqrt((double)p->n));
		assert_true(fabs(squares) < 5 * (fourth - 1) * sqrt((double)p->n));
	}
}

/* Counts that are as uneven as chance makes them: neither more nor less. */
static void assert_even(const unsigned *count, unsigned bins, double expected)
{
	double squares = 0;

	for (unsigned i = 0; i < bins; i++)
		squares += (count[i] - expected) * (count[i] - expected) / expected;
	assert_true(fabs(squares - (bins - 1)) < 5 * sqrt(2. * (bins - 1)));
}

static void test_uniform_points_are_uniform(void **state)
{
	(void)state;
	for (enum real real = REAL_DOUBLE; real <= REAL_FLOAT; real++) {
		struct points p = made(&uniform, real, 0, 100000, 3);
		unsigned count[100] = { 0 };

		for (size_t i = 0; i < p.n; i++)
			for (unsigned j = 0; j < p.d; j++) {
				assert_true(value(&p, i, j) >= 0 && value(&p, i, j) < 1);
				count[(unsigned)(100 * value(&p, i, j))]++;
			}
		assert_even(count, 100, 3000);
		moments(&p, 0.5, sqrt(1 / 12.), 1.8);
		free(p.x);
	}
}

/* Which of the hundred equally likely ranges of a standard normal deviate holds z. */
static unsigned hundredth(double z)
{
	const double part = 50 * erfc(-z / sqrt(2));

	return part < 100 ? (unsigned)part : 99;
}

static void test_a_blob_is_gaussian(void **state)
{
	struct recipe sharp = { .shape = SHAPE_BLOBS, .seed = 11, .k = 1, .spread = 0 },
		      wide = sharp;
	struct points middle = made(&sharp, REAL_DOUBLE, 0, 2, 3), p;
	unsigned count[100] = { 0 };

	(void)state;
	wide.spread = 3;
	p = made(&wide, REAL_DOUBLE, 0, 100000, 3);
	for (unsigned j = 0; j < 3; j++) {
		assert_true(value(&middle, 0, j) == value(&middle, 1, j));
		for (size_t i = 0; i < p.n; i++) {
			double *x = (double *)p.x + i * p.d + j;

			*x -= value(&middle, 0, j);
			count[hundredth(*x / 3)]++;
		}
	}
	assert_even(count, 100, 3000);
	moments(&p, 0, 3, 3);
	free(p.x);
	free(middle.x);
}

static void test_blobs_have_middles_and_shares(void **state)
{
	const struct recipe many = { .shape = SHAPE_BLOBS, .seed = 3, .k = 1000 },
			    few = { .shape = SHAPE_BLOBS, .seed = 3, .k = 20 };
	struct points p = made(&many, REAL_DOUBLE, 0, 20000, 2),
		      q = made(&few, REAL_FLOAT, 0, 100000, 1);
	unsigned count[20] = { 0 }, bins[10] = { 0 }, found = 0;
	float middle[20];

	(void)state;
	for (size_t i = 0; i < p.n; i++)
		for (unsigned j = 0; j < 2; j++)
			assert_true(value(&p, i, j) >= -10 && value(&p, i, j) < 10);
	for (size_t i = 0; i < q.n; i++) {
		const float x = ((float *)q.x)[i];
		unsigned b = 0;

		while (b < found && middle[b] != x)
			b++;
		assert_true(b < 20);
		if (b == found)
			middle[found++] = x;
		count[b]++;
	}
	assert_int_equal(found, 20);
	assert_even(count, 20, 5000);
	for (unsigned seed = 0; seed < 1000; seed++) {
		const struct recipe one = { .shape = SHAPE_BLOBS, .seed = seed, .k = 1 };
		struct points m = made(&one, REAL_DOUBLE, 0, 1, 1);

		bins[(unsigned)((value(&m, 0, 0) + 10) / 2)]++;
		free(m.x);
	}
	assert_even(bins, 10, 100);
	free(p.x);
	free(q.x);
}

static void test_seeds_have_nothing_in_common(void **state)
{
	struct recipe other = uniform;
	struct points p = made(&uniform, REAL_DOUBLE, 0, 1000, 1);

	(void)state;
	for (other.seed = 0; other.seed < 20; other.seed++) {
		struct points q = made(&other, REAL_DOUBLE, 0, 1000, 1);
		unsigned same = 0;

		for (size_t i = 0; i < 1000; i++)
			for (size_t j = 0; j < 1000; j++)
				same += value(&p, i, 0) == value(&q, j, 0);
		assert_int_equal(same, other.seed == uniform.seed ? 1000 : 0);
		free(q.x);
	}
	free(p.x);
}

static void test_drawn_rows_are_distinct(void **state)
{
	unsigned count[10] = { 0 };

	(void)state;
	for (size_t n = 1; n < 200; n++) {
		bool taken[200] = { false };

		for (size_t turn = 0; turn < n; turn++) {
			const size_t row = drawn_row(n, n, turn);

			assert_true(row < n && !taken[row]);
			taken[row] = true;
		}
	}
	for (uint64_t seed = 0; seed < 10000; seed++)
		count[drawn_row(seed, 10, 0)]++;
	assert_even(count, 10, 1000);
	assert_true(drawn_row(1, (size_t)1 << 40, 0) > 1u << 20);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_seed_stands_for_its_points),
		cmocka_unit_test(test_rows_do_not_depend_on_the_division),
		cmocka_unit_test(test_uniform_points_are_uniform),
		cmocka_unit_test(test_a_blob_is_gaussian),
		cmocka_unit_test(test_blobs_have_middles_and_shares),
		cmocka_unit_test(test_seeds_have_nothing_in_common),
		cmocka_unit_test(test_drawn_rows_are_distinct),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
