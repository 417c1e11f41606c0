/* SPDX-License-Identifier: Apache-2.0 */
/* The amount of work of a sample: calibrated counts, fixed counts, and the planned length. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "diary.h"

static void test_calibration_finds_a_count(void **state)
{
	struct bench b;

	(void)state;
	run(&b, by_count, 1, (struct benchmark){ ROWS(roles, by_units) });
	/*
	 * A turn is a microsecond and the reading of a clock, a sample a millisecond; noise can
	 * only lengthen turns, and so lower counts.
	 */
	assert_in_range(b.series.units, 1, 2000);
	assert_int_equal(b.diary.of[0].count, b.series.units);
	for (size_t i = 0; i < b.series.samples.n; i++)
		assert_true(b.series.samples.time[i] >= 0.99e-6);
	end(&b);
}

/* A pause in the first sample, as when a host gives the CPU to others. */
static void with_a_pause(void *state, struct worker *w)
{
	const double end = clock_now() + 1e-2;

	note(state, w);
	while (((struct diary *)state)->of[w->index].calls == 1 && clock_now() < end)
		;
	while (w->done < w->count)
		turn(w);
}

/* A first sample that is long by chance does not calibrate. */
static void test_a_pause_is_no_unit(void **state)
{
	struct bench b;

	(void)state;
	run(&b, with_a_pause, 1, (struct benchmark){ ROWS(roles, by_units) });
	assert_true(b.diary.of[0].calls >= 2 + b.series.samples.n);
	end(&b);
}

/*
 * A thread that starts 5 us late in half of the samples differs from one that does so once, by 100
 * ns.
 */
static void test_the_usual_skew_counts(void **state)
{
	double rare[] = { 5e-6, 1e-7, 5e-6, 6e-6, 5e-6 }, late[] = { 1e-7, 2e-7, 1e-2 };

	(void)state;
	assert_true(batch_usual_skew(rare, 5) == 5e-6);
	assert_true(batch_usual_skew(late, 3) == 2e-7);
	assert_true(isinf(batch_usual_skew(late, 0)));
}

/*
 * The calibrated units for 16 threads that do 200 million units a second together, if a thread
 * begins `late` s after the others in samples of at least `from` units.
 */
static double units_found(double late, double from, bool oversubscribed)
{
	struct planned planned = { .sample = 5e-3,
				   .trial = { .threads = 16, .oversubscribed = oversubscribed } };
	struct series s = { .planned = &planned, .units = 1 };
	double skews[64];
	bool long_before = false, found = false;

	for (size_t i = 0; i < 64 && !found; i++) {
		const double skew = (double)s.units >= from ? late : 1e-7;
		struct sample sample = { .wall = (double)s.units / 200e6 + skew, .skew = skew };

		skews[i] = skew;
		s.skew = batch_usual_skew(skews, i + 1);
		found = batch_calibration_ends(&s, &sample, &long_before);
	}
	assert_true(found);
	return (double)s.units;
}

/* A sample that is long only because a thread began late has too little work. */
static void test_a_late_start_is_no_work(void **state)
{
	const double enough = 0.7 * 5e-3 * 200e6; /* 70 % of the planned length */

	(void)state;
	assert_true(units_found(0, 0, false) >= enough);
	/* with its skew a sample is long enough once, then twice, then from the first on */
	assert_true(units_found(4e-3, 4000, false) >= enough);
	assert_true(units_found(13e-3, 4000, false) >= enough);
	assert_true(units_found(0.2, 0, false) >= enough);
	/* more threads than CPUs run one after the other: their skew is the others' work */
	assert_true(units_found(13e-3, 4000, true) < enough);
}

static void test_a_fixed_count_is_kept(void **state)
{
	struct bench b;

	(void)state;
	set_up(&b, by_count, 3, (struct benchmark){ ROWS(roles, by_units) });
	b.planned.needs.units = FIXED;
	go(&b);
	for (unsigned i = 0; i < 3; i++)
		assert_int_equal(b.diary.of[i].count, i < 2 ? 41 : 40);
	end(&b);
}

static void test_a_sample_is_as_long_as_planned(void **state)
{
	struct bench b;

	(void)state;
	set_up(&b, by_flag, 1, (struct benchmark){ ROWS(roles, timed) });
	b.planned.sample = 2.5e-3;
	go(&b);
	assert_true(b.diary.of[0].count == UINT64_MAX);
	/* longer if workers end late */
	assert_true(b.series.duration >= 2.5e-3 && b.series.duration <= 0.05);
	end(&b);
}

static void test_a_fixed_count_is_no_deadline(void **state)
{
	struct bench b;

	(void)state;
	set_up(&b, by_count, 3, (struct benchmark){ ROWS(roles, timed) });
	b.planned.needs.units = FIXED;
	go(&b);
	for (unsigned i = 0; i < 3; i++)
		assert_int_equal(b.diary.of[i].count, i < 2 ? 41 : 40);
	end(&b);
}

/* Fewer units than workers: a worker without any does none. */
static void test_a_fixed_count_may_be_none(void **state)
{
	struct bench b;

	(void)state;
	set_up(&b, by_count, 3, (struct benchmark){ ROWS(roles, by_units) });
	b.planned.needs.units = 2;
	go(&b);
	for (unsigned i = 0; i < 3; i++)
		assert_int_equal(b.diary.of[i].count, i < 2);
	end(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_calibration_finds_a_count),
		cmocka_unit_test(test_a_pause_is_no_unit),
		cmocka_unit_test(test_the_usual_skew_counts),
		cmocka_unit_test(test_a_late_start_is_no_work),
		cmocka_unit_test(test_a_fixed_count_is_kept),
		cmocka_unit_test(test_a_sample_is_as_long_as_planned),
		cmocka_unit_test(test_a_fixed_count_is_no_deadline),
		cmocka_unit_test(test_a_fixed_count_may_be_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
