/* SPDX-License-Identifier: Apache-2.0 */
/* Ratios: which trials are compared, their number, and the width of their interval. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "invented.h"

static json_t *ratios_of(const struct series *s, const struct series *group, unsigned n)
{
	enum status status;
	json_t *line = summary(s, group, n, 1.5, &status),
	       *list = json_incref(json_object_get(line, "ratios"));

	json_decref(line);
	return list;
}

static void expect_ratio(const json_t *ratio, const char *to, const char *trial, double value)
{
	const json_t *ci = json_object_get(ratio, "ci");
	const double low = json_number_value(json_array_get(ci, 0)),
		     high = json_number_value(json_array_get(ci, 1));

	assert_string_equal(json_string_value(json_object_get(ratio, "name")), "slowdown");
	assert_string_equal(json_string_value(json_object_get(ratio, "to")), to);
	assert_string_equal(json_string_value(json_object_get(ratio, "trial")), trial);
	assert_true(fabs(json_number_value(json_object_get(ratio, "value")) / value - 1) < 1e-9);
	/* the two scatter alike from round to round, so each round has the same ratio */
	assert_true(fabs(low / value - 1) < 1e-9 && fabs(high / value - 1) < 1e-9);
}

/* A ratio relates a trial to the one of its group that differs only in the compared parameter. */
static void test_ratios_find_their_trial(void **state)
{
	enum { SHARED, DENSE, PADDED, N = 8 };
	struct series group[N];
	struct invention inventions[N];
	json_t *list;

	(void)state;
	invent(&group[0], &inventions[0], "other size", 0, PADDED, 2, 2, 1);
	invent(&group[1], &inventions[1], "threads", 0, PADDED, 1, 4, 1);
	invent(&group[2], &inventions[2], "racy dense", 0, DENSE, 1, 2, 6);
	invent(&group[3], &inventions[3], "racy padded", 0, PADDED, 1, 2, 2);
	invent(&group[4], &inventions[4], "atomic padded", 1, PADDED, 1, 2, 8);
	invent(&group[5], &inventions[5], "atomic dense", 1, DENSE, 1, 2, 3);
	invent(&group[6], &inventions[6], "racy shared", 0, SHARED, 1, 2, 5);
	invent(&group[7], &inventions[7], "none", 1, PADDED, 2, 2, 7);
	group[7].samples.n = group[7].samples.batches = 0;

	/* dense over padded, and dense over dense of the other variant */
	list = ratios_of(&group[2], group, N);
	assert_int_equal(json_array_size(list), 2);
	assert_string_equal(
		json_string_value(json_object_get(json_array_get(list, 0), "parameter")), "words");
	assert_string_equal(
		json_string_value(json_object_get(json_array_get(list, 1), "parameter")),
		"variant");
	expect_ratio(json_array_get(list, 0), "padded", "racy padded", 3);
	expect_ratio(json_array_get(list, 1), "atomic", "atomic dense", 2);
	json_decref(list);
	list = ratios_of(&group[3], group, N);
	assert_int_equal(json_array_size(list), 1);
	expect_ratio(json_array_get(list, 0), "atomic", "atomic padded", 0.25);
	json_decref(list);
	list = ratios_of(&group[5], group, N);
	assert_int_equal(json_array_size(list), 1);
	expect_ratio(json_array_get(list, 0), "padded", "atomic padded", 0.375);
	json_decref(list);
	/* the others have no counterpart, or are the denominator, or were not measured */
	for (unsigned i = 0; i < N; i++) {
		if (i == 2 || i == 3 || i == 5)
			continue;
		list = ratios_of(&group[i], group, N);
		assert_int_equal(json_array_size(list), 0);
		json_decref(list);
	}
	for (unsigned i = 0; i < N; i++)
		series_close(&group[i]);
}

static void test_a_ratio_of_another_number(void **state)
{
	static const char *const metrics_of[] = { "cost", "rate", "time" };
	/* the rate of `to` over the rate of `of`: as always, more than 1 speaks for `to` */
	static const double values[] = { 5, 3, 3 };
	struct benchmark b = ratio_benchmark;
	struct series group[2];
	struct invention inventions[2];
	json_t *list;

	(void)state;
	invent(&group[0], &inventions[0], "racy", 0, 1, 1, 2, 6);
	invent(&group[1], &inventions[1], "atomic", 1, 1, 1, 2, 2);
	invent_cost(&group[0], &inventions[0], &b, 50);
	invent_cost(&group[1], &inventions[1], &b, 10);
	list = ratios_of(&group[0], group, 2);
	assert_int_equal(json_array_size(list), 3);
	for (unsigned i = 0; i < 3; i++) {
		assert_string_equal(
			json_string_value(json_object_get(json_array_get(list, i), "metric")),
			metrics_of[i]);
		expect_ratio(json_array_get(list, i), "atomic", "atomic", values[i]);
	}
	json_decref(list);
	for (unsigned i = 0; i < 2; i++)
		series_close(&group[i]);
}

/* Three divided by times from 1.91 to 2.09 s: the longest time gives the lower bound. */
static void test_a_rate_has_its_bounds_in_their_order(void **state)
{
	struct benchmark b = ratio_benchmark;
	struct invention invention;
	const json_t *rate, *ci;
	enum status status;
	struct series s;
	json_t *line;

	(void)state;
	invent(&s, &invention, "one", 0, 0, 1, 2, 2);
	invent_cost(&s, &invention, &b, 50);
	line = summary(&s, &s, 1, 1.5, &status);
	rate = json_array_get(json_object_get(line, "metrics"), RATE);
	ci = json_object_get(rate, "ci");
	assert_true(fabs(json_number_value(json_object_get(rate, "value")) - 1.5) < 1e-9);
	assert_true(fabs(json_number_value(json_array_get(ci, 0)) - 3 / 2.09) < 0.03);
	assert_true(fabs(json_number_value(json_array_get(ci, 1)) - 3 / 1.91) < 0.03);
	json_decref(line);
	series_close(&s);
}

/* Either of the two may be wrong. */
static void test_no_ratio_of_a_wrong_answer(void **state)
{
	(void)state;
	for (unsigned wrong = 0; wrong < 3; wrong++) {
		struct series group[2];
		struct invention inventions[2];
		json_t *list;

		invent(&group[0], &inventions[0], "racy", 0, 1, 1, 2, 6);
		invent(&group[1], &inventions[1], "atomic", 1, 1, 1, 2, 2);
		if (wrong < 2)
			group[wrong].evidence.wrong = strdup("3 is not 4");
		list = ratios_of(&group[0], group, 2);
		assert_int_equal(json_array_size(list), wrong < 2 ? 0 : 1);
		json_decref(list);
		for (unsigned i = 0; i < 2; i++)
			series_close(&group[i]);
	}
}

/* Trials that had no batch in the same round: the quotient of their values, without an interval. */
static void test_a_ratio_without_a_common_round(void **state)
{
	struct series group[2];
	struct invention inventions[2];
	const json_t *ratio;
	json_t *list;

	(void)state;
	invent(&group[0], &inventions[0], "racy", 0, 1, 1, 2, 6);
	invent(&group[1], &inventions[1], "atomic", 1, 1, 1, 2, 2);
	for (unsigned b = 0; b < group[1].samples.batches; b++)
		group[1].samples.batch[b].round += 100;
	list = ratios_of(&group[0], group, 2);
	assert_int_equal(json_array_size(list), 1);
	ratio = json_array_get(list, 0);
	assert_true(fabs(json_number_value(json_object_get(ratio, "value")) - 3) < 1e-9);
	assert_true(json_is_null(json_object_get(ratio, "ci")));
	json_decref(list);
	for (unsigned i = 0; i < 2; i++)
		series_close(&group[i]);
}

/* A trial without a time has no ratio, and its status is failed. */
static void test_no_ratio_without_a_time(void **state)
{
	struct series group[2];
	struct invention inventions[2];
	enum status status;
	json_t *line;

	(void)state;
	invent(&group[0], &inventions[0], "dense", 0, 1, 1, 2, 6);
	invent(&group[1], &inventions[1], "padded", 0, 2, 1, 2, 2);
	for (unsigned i = 0; i < group[1].samples.batches; i++)
		group[1].samples.time[i] = group[1].samples.batch[i].estimate =
			group[1].samples.batch[i].clean = NAN;
	for (unsigned i = 0; i < 2; i++) {
		line = summary(&group[i], group, 2, 1.5, &status);
		assert_int_equal(json_array_size(json_object_get(line, "ratios")), 0);
		assert_int_equal(status, i ? STATUS_FAILED : STATUS_OK);
		json_decref(line);
	}
	for (unsigned i = 0; i < 2; i++)
		series_close(&group[i]);
}

/*
 * If two trials have narrow intervals by chance, their ratio's interval is at least 0.8 times the
 * median width of the ratios in their group.
 */
static void test_a_ratio_is_not_narrower_than_those_of_its_group(void **state)
{
	enum { TRIALS = 6 };
	struct series group[TRIALS];
	struct invention inventions[TRIALS];
	const json_t *ci;
	json_t *list;

	(void)state;
	for (unsigned t = 0; t < TRIALS; t++)
		invent(&group[t], &inventions[t], t ? "atomic" : "racy", !!t, 1, 1, 2, t ? 1 : 2);
	for (unsigned t = 1; t < TRIALS; t++) /* to "atomic" of the same words and size only */
		inventions[t].value[SIZE_OF].count = t;
	for (unsigned t = 0; t < TRIALS; t++)
		for (unsigned b = 0; b < group[t].samples.batches; b++)
			group[t].samples.batch[b].clean *=
				1 + (t > 1 ? 0.1 : 0.02) * ((b * t * 3) % 7);
	list = ratios_of(&group[0], group, TRIALS);
	assert_int_equal(json_array_size(list), 1);
	ci = json_object_get(json_array_get(list, 0), "ci");
	/* by its own allocations 1.79 to 2; the ratios of the others reach 25 % */
	assert_true(json_number_value(json_array_get(ci, 0)) < 1.8);
	assert_true(json_number_value(json_array_get(ci, 1)) > 2.2);
	json_decref(list);
	for (unsigned t = 0; t < TRIALS; t++)
		series_close(&group[t]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ratios_find_their_trial),
		cmocka_unit_test(test_a_ratio_of_another_number),
		cmocka_unit_test(test_a_rate_has_its_bounds_in_their_order),
		cmocka_unit_test(test_no_ratio_of_a_wrong_answer),
		cmocka_unit_test(test_a_ratio_without_a_common_round),
		cmocka_unit_test(test_no_ratio_without_a_time),
		cmocka_unit_test(test_a_ratio_is_not_narrower_than_those_of_its_group),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
