/* SPDX-License-Identifier: Apache-2.0 */
/* One-way times of core-to-core: stamps that two threads exchange, and how skew affects them. */
#include <math.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "bench/core-to-core/core-to-core.h"
#include "bounded.h"
#include "code.h"
#include "tree.h"

/* ---- skew ---- */

/* The true times to side 1 and to side 0; the counter of side 1 is `skew` ticks ahead. */
static void receive(struct stamps side[2], const int64_t *there, const int64_t *back, unsigned n,
		    int64_t skew)
{
	for (unsigned i = 0; i < 2; i++)
		side[i].n = side[i].least = 0;
	for (unsigned i = 0; i < n; i++) {
		const int64_t took[2] = { back[i] - skew, there[i] + skew };

		for (unsigned j = 0; j < 2; j++) {
			side[j].took[side[j].n++ % STAMPS] = took[j];
			if (i == 0 || took[j] < side[j].least)
				side[j].least = took[j];
		}
	}
}

static const int64_t skews[] = { 0, 7, -7, 100, -100, 1000000, -1000000 };
enum { SKEWS = sizeof(skews) / sizeof(*skews) };

static void skew_changes_nothing_where_both_ways_take_equally_long(void **state)
{
	static const int64_t there[] = { 60, 50, 50, 90 }, back[] = { 50, 70, 50, 50 };
	static struct histogram h;
	static struct stamps side[2];
	double bound;

	(void)state;
	for (unsigned i = 0; i < SKEWS; i++) {
		receive(side, there, back, 4, skews[i]);
		histogram_clear(&h);
		assert_true(one_way_add(side, &h, &bound));
		assert_true(bound == 50);
		assert_int_equal(histogram_total(&h), 8);
		assert_true(fabs(histogram_quantile(&h, 0.5) - 50) < 1);
		assert_true(fabs(histogram_quantile(&h, 1) - 90) < 1);
	}
}

/* 20 ticks one way and 80 the other look like 50 both ways: the bound shows it. */
static void what_differs_by_direction_is_within_the_bound(void **state)
{
	static const int64_t there[] = { 20, 25 }, back[] = { 80, 85 };
	static struct histogram h;
	static struct stamps side[2];
	double bound;

	(void)state;
	for (unsigned i = 0; i < SKEWS; i++) {
		receive(side, there, back, 2, skews[i]);
		histogram_clear(&h);
		assert_true(one_way_add(side, &h, &bound));
		assert_true(bound == 50);
		for (unsigned j = 0; j < 2; j++) {
			const double told = histogram_quantile(&h, j ? 1 : 0.5);

			assert_true(fabs(told - (double)there[j]) <= bound + 1);
			assert_true(fabs(told - (double)back[j]) <= bound + 1);
		}
	}
}

static void counters_of_different_rates_and_silence_have_no_times(void **state)
{
	static const int64_t there[] = { 20, -90 }, back[] = { 80, 80 };
	static struct histogram h;
	static struct stamps side[2];
	double bound = -1;

	(void)state;
	receive(side, there, back, 2, 0); /* a round trip of negative length */
	assert_false(one_way_add(side, &h, &bound));
	receive(side, there, back, 0, 0);
	assert_false(one_way_add(side, &h, &bound));
	assert_int_equal(histogram_total(&h), 0);
	assert_true(bound == -1);
}

/* If there are more stamps than room, the last ones are kept, and the least time of all. */
static void many_stamps_leave_the_last(void **state)
{
	enum { N = STAMPS + 10 };
	static int64_t there[N], back[N];
	static struct histogram h;
	static struct stamps side[2];
	double bound;

	(void)state;
	for (unsigned i = 0; i < N; i++)
		there[i] = back[i] = i < 10 ? 30 : 50;
	receive(side, there, back, N, 3);
	assert_true(one_way_add(side, &h, &bound));
	assert_true(bound == 30);
	assert_int_equal(histogram_total(&h), 2 * STAMPS);
	assert_true(fabs(histogram_quantile(&h, 0) - 50) < 1);
}

/* ---- the exchange ---- */

static struct lines lines;
static struct stamps stamps[2];
enum { TURNS = 2000 };

static void *answer(void *nothing)
{
	exchange_stamps(&lines, 1, TURNS, &stamps[1]);
	return nothing;
}

static void each_stamp_is_received_once(void **state)
{
	(void)state;
	for (unsigned round = 0; round < 3; round++) {
		pthread_t thread;

		assert_int_equal(pthread_create(&thread, NULL, answer, NULL), 0);
		exchange_stamps(&lines, 0, TURNS, &stamps[0]);
		pthread_join(thread, NULL);
		for (unsigned side = 0; side < 2; side++) {
			assert_int_equal(stamps[side].n, TURNS);
			assert_int_equal(lines.line[side].word & 1, 0);
			for (unsigned i = 0; i < STAMPS; i++)
				assert_true(stamps[side].took[i] >= stamps[side].least);
		}
	}
}

static void its_code_is_what_was_meant(void **state)
{
	static const struct shape shapes[] = {
#if defined(__x86_64__)
		/* the polling loop has nothing that would delay the next look */
		{ "exchange_stamps", LOOP, ARITHMETIC, { LOADED } },
		{ "exchange_stamps", ALL, ".*", { "lfence", "rdtsc", STORED, LOADED } },
#elif defined(__aarch64__)
		{ "exchange_stamps", LOOP, ARITHMETIC, { "lda(p)?r .*" } },
		{ "exchange_stamps", ALL, ".*", { "isb", "mrs .*", "stlr .*", "lda(p)?r .*" } },
#endif
	};

	(void)state;
	have_the_shapes_that_were_meant(shapes, sizeof(shapes) / sizeof(*shapes));
}

/* ---- a counter that all CPUs share ---- */

static void the_kernel_says_whether_ticks_are_common(void **state)
{
	static const char offered[] =
		"/sys/devices/system/clocksource/clocksource0/available_clocksource";

	(void)state;
#ifdef __x86_64__
	assert_non_null(one_way_lacks_at(root)); /* no such file */
	put_file(offered, "kvm-clock hpet acpi_pm \n");
	assert_non_null(one_way_lacks_at(root));
	put_file(offered, "tsc-early hpet\n");
	assert_non_null(one_way_lacks_at(root));
	put_file(offered, "kvm-clock tsc hpet\n");
	assert_null(one_way_lacks_at(root));
	put_file(offered, "tsc\n");
	assert_null(one_way_lacks_at(root));
#else
	put_file(offered, "arch_sys_counter\n");
#ifdef __aarch64__
	assert_null(one_way_lacks_at(root));
#else
	assert_non_null(one_way_lacks_at(root));
#endif
#endif
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(skew_changes_nothing_where_both_ways_take_equally_long),
		cmocka_unit_test(what_differs_by_direction_is_within_the_bound),
		cmocka_unit_test(counters_of_different_rates_and_silence_have_no_times),
		cmocka_unit_test(many_stamps_leave_the_last),
		cmocka_unit_test(each_stamp_is_received_once),
		cmocka_unit_test(its_code_is_what_was_meant),
		cmocka_unit_test_setup_teardown(the_kernel_says_whether_ticks_are_common, tree_make,
						tree_remove),
	};

	return cmocka_run_group_tests(tests, begin_bounded, end_bounded);
}
