/* SPDX-License-Identifier: Apache-2.0 */
/* Samples in batches: their lines in the record, noise that is set aside, cycles. */
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
#include "harness/judge/summary.h"

static void test_batches_become_lines(void **state)
{
	struct bench b;
	json_t *line;

	(void)state;
	run(&b, by_count, 1, (struct benchmark){ ROWS(roles, by_units) });
	line = samples_line(&b.series, b.series.samples.batches - 1, 1);
	assert_int_equal(json_integer_value(json_object_get(line, "batch")),
			 ALLOCATIONS * BATCHES - 1);
	assert_int_equal(json_array_size(json_object_get(line, "times")), SAMPLES);
	assert_null(json_object_get(line, "values")); /* they are in the trial's line, by batch */
	json_decref(line);
	end(&b);
}

static void test_workers_that_never_met_make_a_line_without_quantiles(void **state)
{
	struct bench b;
	struct series met;
	json_t *line, *sketch;

	(void)state;
	run(&b, by_count, 1, (struct benchmark){ ROWS(roles, by_units) });
	met = b.series;
	met.pairs = (struct pairs *)&met; /* its samples are not raw */
	for (unsigned i = 0; i < SAMPLES; i++)
		met.samples.time[i] = NAN;
	line = samples_line(&met, 0, 1);
	sketch = json_object_get(line, "sketch");
	assert_int_equal(json_integer_value(json_object_get(sketch, "n")), 0);
	assert_null(json_object_get(sketch, "quantiles"));
	json_decref(line);
	end(&b);
}

/*
 * Two allocations of three samples each: noisy samples do not count, unless one of the two has only
 * noisy ones.
 */
static void test_noisy_samples_are_set_aside(void **state)
{
	double time[] = { 1, 2, 90, 11, 12, 80 };
	unsigned char noisy[] = { 0, 0, 1, 0, 0, 1 };
	struct batch batch[] = {
		{ .samples = 3, .estimate = 2, .clean = 1.5 },
		{ .first = 3, .samples = 3, .allocation = 1, .estimate = 12, .clean = 11.5 },
	};
	struct samples s = {
		.time = time, .noisy = noisy, .batch = batch, .batches = 2, .allocations = 2
	};
	struct estimate e;

	(void)state;
	assert_true(samples_aside(&s));
	e = estimates_time(&s).kept;
	assert_true(e.value == 6.5 && isnan(e.low) && e.least == 1.5 && e.most == 11.5);
	assert_int_equal(e.groups, 2);
	noisy[3] = noisy[4] = 1;
	assert_true(samples_has_without(&s, 0, SAMPLE_DISTURBED) &&
		    !samples_has_without(&s, 1, SAMPLE_DISTURBED));
	assert_true(estimates_time(&s).kept.value == 7);
	assert_true(samples_estimate(&s, (double[]){ 1, 3 }).value == 2);
}

/* Crowded samples are set aside, too, where each allocation has others. */
static void test_crowded_samples_are_set_aside_if_others_remain(void **state)
{
	double time[] = { 1, 2, 90, 11, 12, 80 };
	unsigned char noisy[] = { 0, SAMPLE_CROWDED, SAMPLE_DISTURBED, 0, 0, 3 };
	struct batch batch[] = {
		{ .samples = 3, .estimate = 2, .clean = 1.5, .quiet = 1 },
		{ .first = 3,
		  .samples = 3,
		  .allocation = 1,
		  .estimate = 12,
		  .clean = 11.5,
		  .quiet = 11.5 },
	};
	struct samples s = {
		.time = time, .n = 6, .noisy = noisy, .batch = batch, .batches = 2, .allocations = 2
	};

	(void)state;
	assert_int_equal(samples_aside(&s), SAMPLE_DISTURBED | SAMPLE_CROWDED);
	assert_true(estimates_time(&s).kept.value == (1 + 11.5) / 2);
	assert_true(estimates_batch(&s, 0, time, samples_aside(&s)) == 1);
	noisy[3] = noisy[4] = SAMPLE_CROWDED; /* the second allocation has no others */
	assert_int_equal(samples_aside(&s), SAMPLE_DISTURBED);
	assert_true(estimates_time(&s).kept.value == (1.5 + 11.5) / 2);
	noisy[3] = noisy[4] = SAMPLE_DISTURBED;
	assert_int_equal(samples_aside(&s), 0);
}

/* An allocation may be crowded as a whole, if half of them, and enough for an interval, are not. */
static void test_crowded_allocations_do_not_count(void **state)
{
	enum { MOST = 14 };
	double time[MOST];
	unsigned char noisy[MOST] = { 0 };
	struct batch batch[MOST];
	struct samples s = { .time = time, .noisy = noisy, .batch = batch };

	(void)state;
	for (unsigned i = 0; i < MOST; i++) {
		noisy[i] = i % 2 ? SAMPLE_CROWDED : 0;
		time[i] = i % 2 ? 9 : 5;
		batch[i] = (struct batch){ .first = i,
					   .samples = 1,
					   .allocation = i,
					   .estimate = time[i],
					   .clean = time[i],
					   .quiet = i % 2 ? NAN : time[i] };
	}
	for (unsigned n = 2; n <= MOST; n++) {
		s.n = s.batches = s.allocations = n;
		assert_int_equal(samples_aside(&s) & SAMPLE_CROWDED,
				 (n + 1) / 2 >= LEAST_VALUES ? SAMPLE_CROWDED : 0);
	}
	assert_true(estimates_time(&s).kept.value == 5 && estimates_time(&s).all == 7);
	assert_int_equal(estimates_time(&s).kept.groups, MOST / 2);
	noisy[0] = SAMPLE_CROWDED;
	assert_int_equal(samples_aside(&s), SAMPLE_DISTURBED);
}

/* An allocation needs a quarter of its samples to be clean. */
static void test_a_quarter_of_an_allocation_has_to_be_clean(void **state)
{
	enum { SAMPLES_HERE = 9 };
	double time[SAMPLES_HERE] = { 1, 1, 1, 1, 1, 1, 1, 1, 1 };
	unsigned char noisy[SAMPLES_HERE] = { 0, 0, 1, 1, 1, 1, 1, 1, 1 };
	struct batch batch[] = { { .samples = 4 }, { .first = 4, .samples = 4 } };
	struct samples s = {
		.time = time, .noisy = noisy, .batch = batch, .batches = 2, .allocations = 1
	};

	(void)state;
	assert_true(samples_has_without(&s, 0, SAMPLE_DISTURBED)); /* 2 of 8 */
	batch[1].samples = 5;
	assert_false(samples_has_without(&s, 0, SAMPLE_DISTURBED)); /* 2 of 9 */
	time[8] = NAN; /* a sample without a time does not count */
	assert_true(samples_has_without(&s, 0, SAMPLE_DISTURBED));
}

/* The CPU of worker 0 in a trial; the second sample of each batch is said to have lost it. */
static struct marked {
	struct bench bench;
	int cpu;
	_Atomic bool now;
} marked;

static void mark_the_second(void *state)
{
	const struct diary *d = state;

	marked.now = d->collected % 3 == 1;
	marked.bench.place[0].cpu = marked.now ? marked.cpu + 1000 : marked.cpu;
}

/* Twice as slow in a marked sample. */
static void slow_if_marked(void *state, struct worker *w)
{
	note(state, w);
	for (uint64_t done = w->done; done < w->count; w->done = ++done) {
		turn(w);
		if (marked.now)
			turn(w);
	}
}

/*
 * A batch's clean time is the median of the samples that are not noisy; its estimate is the median
 * of all.
 */
static void test_the_clean_time_leaves_noisy_samples_out(void **state)
{
	const struct series *s = &marked.bench.series;

	(void)state;
	set_up(&marked.bench, slow_if_marked, 1, (struct benchmark){ .roles = by_units });
	marked.bench.benchmark.ops.reset = mark_the_second;
	marked.bench.samples = 3;
	marked.cpu = marked.bench.place[0].cpu;
	go(&marked.bench);
	assert_int_equal(s->samples.batches, ALLOCATIONS * BATCHES);
	for (unsigned i = 0; i < s->samples.batches; i++) {
		const struct batch *b = &s->samples.batch[i];
		const double *x = s->samples.time + b->first;
		const unsigned char *noisy = s->samples.noisy + b->first;

		assert_true(noisy[1]);
		/* the machine may also disturb the other two */
		if (!noisy[0] && !noisy[2])
			assert_true(fabs(b->clean / ((x[0] + x[2]) / 2) - 1) < 1e-12);
		else if (noisy[0] && noisy[2])
			assert_true(isnan(b->clean));
		else
			assert_true(b->clean == x[noisy[0] ? 2 : 0]);
		assert_true(b->estimate == fmax(fmin(x[0], x[1]), fmin(fmax(x[0], x[1]), x[2])));
	}
	end(&marked.bench);
}

/*
 * Cycles are computed batch by batch: 10, 10 and 40 have the median 10, though the medians of the
 * times (30) and of the cycle lengths (2) would give 15.
 */
static void test_cycles_are_those_of_each_batch(void **state)
{
	struct batch batch[] = { { .clean = 30, .cycle = 3 },
				 { .clean = 10, .cycle = 1 },
				 { .clean = 80, .cycle = 2 } };
	struct planned planned = { .id = "" };
	struct series s = { .planned = &planned, .samples = { .batch = batch, .batches = 3 } };

	(void)state;
	assert_true(fabs(30 / samples_cycle(&s, 30) - 10) < 1e-12);
	batch[0].cycle = 0; /* the median of 10 and 40 */
	assert_true(fabs(30 / samples_cycle(&s, 30) - 25) < 1e-12);
	batch[1].clean = NAN; /* it is enough if half of those with a time have one */
	assert_true(fabs(30 / samples_cycle(&s, 30) - 40) < 1e-12);
	batch[2].cycle = 0;
	assert_true(isnan(samples_cycle(&s, 30)));
	batch[0].cycle = batch[2].cycle = 3;
	planned.trial.oversubscribed = true;
	assert_true(isnan(samples_cycle(&s, 30)));
}

static void test_a_batch_has_a_cycle_at_one_frequency_alone(void **state)
{
	const struct batch_cores slow = { 1, 1.01, 1.02 }, fast = { 0.5, 0.51, 0.52 },
				 mixed = { 0.5, 1, 1 }, unknown = { 0, 0, 0 };

	(void)state;
	assert_true(batch_cycle(slow, slow) == 1.01);
	assert_true(fabs(batch_cycle(fast, (struct batch_cores){ 0.5, 0.505, 0.51 }) - 0.5075) <
		    1e-12);
	assert_true(batch_cycle(slow, fast) == 0 && batch_cycle(fast, slow) == 0);
	assert_true(batch_cycle(mixed, mixed) == 0);
	assert_true(batch_cycle(unknown, unknown) == 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_batches_become_lines),
		cmocka_unit_test(test_workers_that_never_met_make_a_line_without_quantiles),
		cmocka_unit_test(test_noisy_samples_are_set_aside),
		cmocka_unit_test(test_crowded_samples_are_set_aside_if_others_remain),
		cmocka_unit_test(test_crowded_allocations_do_not_count),
		cmocka_unit_test(test_a_quarter_of_an_allocation_has_to_be_clean),
		cmocka_unit_test(test_the_clean_time_leaves_noisy_samples_out),
		cmocka_unit_test(test_cycles_are_those_of_each_batch),
		cmocka_unit_test(test_a_batch_has_a_cycle_at_one_frequency_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
