/* SPDX-License-Identifier: Apache-2.0 */
/*
 * When measuring stops: only at looks, if the interval is narrow, or if there is no time for twice
 * as many allocations. Times are hours, so a slow machine changes nothing.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "harness/run/alternation.h"

enum { HOUR = 3600, MOST = 24, TRIALS = 8 };

/* Made-up measurements: every other allocation takes 1 + scatter times as long. */
struct scene {
	struct run run;
	struct series series;
	struct planned planned;
	struct batch batch[MOST];
	/* of groups */
	struct planned trials[TRIALS];
	struct batch batches[TRIALS * MOST];
	struct alternation group;
};

static struct scene *scene(unsigned allocations, double scatter, double spent, double left)
{
	struct scene *s = calloc(1, sizeof(*s));

	assert_non_null(s);
	assert_int_equal(record_open(&s->run.record, NULL, RECORD_NEW, NULL), 0);
	budget_begin(&s->run.budget, NULL, 0);
	s->run.budget.until = INFINITY;
	s->run.budget.began -= spent;
	s->series.task.within = 0.01;
	s->series.planned = &s->planned;
	s->series.samples.batch = s->batch;
	s->series.samples.batches = s->series.samples.allocations = allocations;
	for (unsigned i = 0; i < allocations; i++)
		s->batch[i] = (struct batch){ .allocation = i,
					      .clean = 1 + (i % 2) * scatter,
					      .estimate = 1 + (i % 2) * scatter };
	s->group = (struct alternation){ .run = &s->run,
					 .series = &s->series,
					 .n = 1,
					 .end = spent + left,
					 .allocations = MOST };
	return s;
}

static void leave(struct scene *s)
{
	record_close(s->run.record);
	free(s);
}

static void it_stops_at_looks_alone(void **state)
{
	static const struct {
		unsigned allocations;
		double scatter, spent, left; /* s */
		enum stopped expected;
	} rows[] = {
		/* a narrow interval counts only at a look */
		{ 5, 0, HOUR, HOUR, STOPPED_NOT_RUN },
		{ 6, 0, HOUR, HOUR, STOPPED_CONVERGED },
		{ 7, 0, HOUR, HOUR, STOPPED_NOT_RUN },
		{ 12, 0, HOUR, HOUR, STOPPED_CONVERGED },
		/* half as wide as 3 % of the value: more than the target of 1 % */
		{ 6, 0.03, HOUR, 2 * HOUR, STOPPED_NOT_RUN },
		{ 12, 0.03, HOUR, 2 * HOUR, STOPPED_NOT_RUN },
		{ 6, 0.005, HOUR, 2 * HOUR, STOPPED_CONVERGED },
		/* a wide one doubles the allocations, as far as the share was divided */
		{ 6, 1, HOUR, 2 * HOUR, STOPPED_NOT_RUN },
		{ 7, 1, HOUR, 2 * HOUR, STOPPED_NOT_RUN },
		{ 12, 1, HOUR, 2 * HOUR, STOPPED_NOT_RUN },
		{ 23, 1, HOUR, 2 * HOUR, STOPPED_NOT_RUN },
		{ 24, 1, HOUR, 2 * HOUR, STOPPED_BUDGET },
		/* the next look takes as long again, within a tenth */
		{ 6, 1, HOUR, 0.95 * HOUR, STOPPED_NOT_RUN },
		{ 6, 1, HOUR, 0.85 * HOUR, STOPPED_BUDGET },
		{ 6, 1, HOUR, -HOUR, STOPPED_BUDGET },
		/* allocations begun for a look are finished; before the first look time decides */
		{ 7, 1, HOUR, -HOUR, STOPPED_NOT_RUN },
		{ 5, 1, HOUR, -HOUR, STOPPED_BUDGET },
	};

	(void)state;
	for (unsigned i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct scene *s =
			scene(rows[i].allocations, rows[i].scatter, rows[i].spent, rows[i].left);
		const enum stopped stopped =
			alternation_stop(&s->group, rows[i].allocations, 0, true);

		if (stopped != rows[i].expected)
			print_error("row %u\n", i);
		assert_int_equal(stopped, rows[i].expected);
		leave(s);
	}
}

/* A number of samples set by the user ends it; otherwise only the run's own budget does. */
static void a_number_of_samples_ends_it(void **state)
{
	struct scene *s = scene(6, 0, HOUR, HOUR);

	(void)state;
	s->group.repeats = 12;
	assert_int_equal(alternation_stop(&s->group, 6, 6, true), STOPPED_NOT_RUN);
	assert_int_equal(alternation_stop(&s->group, 12, 0, true), STOPPED_REPEATS);
	assert_int_equal(alternation_stop(&s->group, 6, 6, false), STOPPED_BUDGET);
	s->run.budget.until = 0.5 * HOUR;
	assert_int_equal(alternation_stop(&s->group, 6, 6, true), STOPPED_BUDGET);
	leave(s);
}

/* A group that is larger than all before takes longer in proportion; it is begun if it can end. */
static void a_group_is_begun_if_the_share_lasts_for_it(void **state)
{
	static const double MIB = 1 << 20;
	struct scene *s = scene(6, 0, HOUR, HOUR);
	struct budget *b = &s->run.budget;

	(void)state;
	b->deadline = 3 * HOUR;
	budget_divide(b, 0, 0, 0);	      /* two hours are left */
	assert_true(budget_affords(b, 1e18)); /* nothing is known */
	budget_prepared(b, 8 * MIB, HOUR);    /* a small one, which says nothing */
	assert_true(budget_affords(b, 1e18));
	budget_prepared(b, 64 * MIB, 0.5 * HOUR);
	budget_prepared(b, 32 * MIB, HOUR);
	assert_true(budget_affords(b, 64 * MIB));
	assert_true(budget_affords(b, 255 * MIB));
	assert_false(budget_affords(b, 257 * MIB));
	budget_divide(b, 0, 0, 0); /* memory of another benchmark does not count */
	assert_true(budget_affords(b, 257 * MIB));
	leave(s);
}

/* Large trials leave time to many small ones; from 128 MiB on they get time by their memory. */
static void large_trials_do_not_take_it_all(void **state)
{
	struct planned small = { .needs.bytes = 4096 }, large = { .needs.bytes = 128UL << 20 };
	const double one = budget_weigh(&small, 1), ratio = budget_weigh(&large, 1) / one;

	(void)state;
	assert_true(ratio > 3 && ratio < 6);
	large.needs.bytes = 2UL << 30;
	assert_true(fabs(budget_weigh(&large, 1) - one - 16 * (ratio - 1) * one) < 0.1);
}

/* s from now to the end of the share */
static double share_of(struct budget *b, unsigned left, double preparing, double others)
{
	budget_divide(b, left, preparing, others);
	return b->until - budget_now(b);
}

/* A minute for ten benchmarks, of which one needs 20 s before it can measure anything. */
static void memory_is_prepared_beside_equal_shares(void **state)
{
	struct scene *s = scene(6, 0, 0, 0);
	struct budget *b = &s->run.budget;
	struct planned plan[] = { { .needs.bytes = 4096 }, { .needs.bytes = 6UL << 30 } };
	const double tolerated = 0.5; /* s */

	(void)state;
	b->deadline = budget_now(b) + 60;
	assert_true(budget_preparing(plan, 1) == 0);
	assert_true(budget_preparing(plan, 2) > 3 && budget_preparing(plan, 2) < 30);
	assert_true(fabs(share_of(b, 9, 20, 0) - 24) < tolerated);
	assert_true(fabs(share_of(b, 9, 0, 20) - 4) < tolerated);
	assert_true(fabs(share_of(b, 9, 0, 0) - 6) < tolerated);
	assert_true(fabs(share_of(b, 9, 1000, 0) - 33) < tolerated); /* all share half of it */
	assert_true(fabs(share_of(b, 9, 0, 1000) - 3) < tolerated);
	assert_true(fabs(share_of(b, 0, 0, 0) - 60) < tolerated);
	plan[1].done = true;
	assert_true(budget_preparing(plan, 2) == 0);
	leave(s);
}

/*
 * Gives each of n trials of a group twelve allocations; every other one is slower by the trial's
 * scatter.
 */
static struct scene *group_of(unsigned n, const double *scatter)
{
	struct scene *s = scene(12, 0, HOUR, HOUR);

	s->group.series = calloc(n, sizeof(*s->group.series));
	assert_non_null(s->group.series);
	s->group.n = n;
	for (unsigned i = 0; i < n; i++) {
		struct series *one = &s->group.series[i];

		*one = s->series;
		one->planned = &s->trials[i];
		one->samples.batch = &s->batches[12 * i];
		for (unsigned j = 0; j < 12; j++) {
			one->samples.batch[j] = s->batch[j];
			one->samples.batch[j].clean = one->samples.batch[j].estimate =
				1 + (j % 2) * scatter[i];
		}
	}
	return s;
}

static void leave_group(struct scene *s)
{
	free(s->group.series);
	leave(s);
}

/* A trial that is narrow by chance has not converged if the others of its group have not. */
static void a_group_shows_what_its_trials_scatter(void **state)
{
	const double alike[] = { 0.006, 0.03, 0.03, 0.03, 0.03 },
		     calm[] = { 0.006, 0.006, 0.006, 0.03, 0.006 },
		     steady[] = { 0.001, 0.03, 0.03, 0.03, 0.03 };
	struct scene *s = group_of(5, alike);

	(void)state;
	assert_int_equal(alternation_stop(&s->group, 12, 0, true), STOPPED_NOT_RUN);
	for (unsigned i = 0; i < 5; i++)
		assert_int_equal(alternation_reason(&s->group, &s->group.series[i], STOPPED_BUDGET),
				 STOPPED_BUDGET);
	leave_group(s);
	s = group_of(5, calm);
	assert_int_equal(alternation_stop(&s->group, 12, 0, true), STOPPED_NOT_RUN);
	for (unsigned i = 0; i < 5; i++)
		assert_int_equal(alternation_reason(&s->group, &s->group.series[i], STOPPED_BUDGET),
				 i == 3 ? STOPPED_BUDGET : STOPPED_CONVERGED);
	leave_group(s);
	/* narrower than chance explains */
	s = group_of(5, steady);
	assert_int_equal(alternation_stop(&s->group, 12, 0, true), STOPPED_NOT_RUN);
	assert_int_equal(alternation_reason(&s->group, &s->group.series[0], STOPPED_BUDGET),
			 STOPPED_CONVERGED);
	leave_group(s);
}

/* Three trials are too few; with trials of earlier groups of their benchmark they are enough. */
static void a_small_group_is_judged_with_earlier_ones(void **state)
{
	const double scatter[] = { 0.006, 0.03, 0.03 };
	struct scene *s = group_of(3, scatter);
	struct plan plan = { .trial = s->trials, .trials = TRIALS };

	(void)state;
	s->run.plans = (struct plans){ .plan = &plan, .plans = 1 };
	alternation_stop(&s->group, 12, 0, true);
	assert_int_equal(alternation_reason(&s->group, &s->group.series[0], STOPPED_BUDGET),
			 STOPPED_CONVERGED);
	s->trials[TRIALS - 1].scatter = 0.05; /* half of 3 %, times the root of 12 */
	alternation_stop(&s->group, 12, 0, true);
	assert_int_equal(alternation_reason(&s->group, &s->group.series[0], STOPPED_BUDGET),
			 STOPPED_BUDGET);
	leave_group(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(it_stops_at_looks_alone),
		cmocka_unit_test(a_number_of_samples_ends_it),
		cmocka_unit_test(a_group_is_begun_if_the_share_lasts_for_it),
		cmocka_unit_test(large_trials_do_not_take_it_all),
		cmocka_unit_test(memory_is_prepared_beside_equal_shares),
		cmocka_unit_test(a_group_shows_what_its_trials_scatter),
		cmocka_unit_test(a_small_group_is_judged_with_earlier_ones),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
