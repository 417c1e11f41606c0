/* SPDX-License-Identifier: Apache-2.0 */
/* The summary of a trial: its status with the reasons, its notes, its modes. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "invented.h"
#include "tree.h"

/* ---- the status ---- */

static void test_the_end_is_told_with_its_cause(void **state)
{
	static const struct {
		enum stopped stopped;
		bool samples, ready;
		enum status status;
		const char *reason;
	} table[] = {
		{ STOPPED_CONVERGED, true, false, STATUS_OK, NULL },
		{ STOPPED_SIGNAL, true, false, STATUS_INTERRUPTED, "before this trial was" },
		{ STOPPED_SIGNAL, false, false, STATUS_INTERRUPTED, "interrupted before this" },
		{ STOPPED_BUDGET, false, false, STATUS_INTERRUPTED, "spent before this trial" },
		{ STOPPED_BUDGET, false, true, STATUS_INTERRUPTED, "budget before a batch" },
		{ STOPPED_BUDGET, true, true, STATUS_INTERRUPTED, "before the answer was" },
		{ STOPPED_BUDGET, true, false, STATUS_UNCONVERGED,
		  "stopped by the time budget at ±4.5 % (target" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++) {
		struct invention invention;
		struct series s;

		invent(&s, &invention, "one", 0, 0, 1, 2, 1);
		s.stopped = table[i].stopped;
		s.ready = s.begun = table[i].ready;
		if (!table[i].samples)
			s.samples.n = s.samples.batches = 0;
		expect_end(&s, table[i].status, table[i].reason);
		series_close(&s);
	}
}

/* A wide interval is shown by its ends, as factors, not by its half. */
static void test_a_wide_interval_is_told_by_its_ends(void **state)
{
	struct invention invention;
	struct series s;

	(void)state;
	invent(&s, &invention, "one", 0, 0, 1, 2, 1);
	for (unsigned b = 0; b < s.samples.batches; b++)
		s.samples.batch[b].estimate = s.samples.batch[b].clean = b < 5 ? 0.5 : 20;
	s.stopped = STOPPED_BUDGET;
	expect_end(&s, STATUS_UNCONVERGED,
		   "stopped by the time budget at 0.049 to 2 times the value (target ±");
	series_close(&s);
}

/* A quota below its threads, and changes, follow the reason of a trial that was begun. */
static void test_what_held_it_up_is_a_reason(void **state)
{
	static const struct file files[] = { { "/proc/self/cgroup", "0::/job\n" },
					     { "/proc/self/mountinfo",
					       "30 1 0:26 / /cgroup rw - cgroup2 cgroup2 rw\n" },
					     { "/cgroup/job/cpu.max", "max 100000\n" },
					     { 0 } };
	struct invention invention;
	struct conditions conditions;
	json_t *reasons, *line;
	enum status status;
	struct series s;

	(void)state;
	put_files(files);
	conditions_read(root, &conditions);
	put_file("/cgroup/job/cpu.max", "5000 100000\n");
	invent(&s, &invention, "one", 0, 0, 1, 2, 1);
	s.task.conditions = &conditions;
	for (unsigned begun = 0; begun < 2; begun++) {
		s.begun = begun;
		s.stopped = STOPPED_BUDGET;
		line = summary(&s, &s, 1, 1.5, &status);
		reasons = json_object_get(line, "reasons");
		assert_int_equal(status, STATUS_UNCONVERGED);
		assert_int_equal(json_array_size(reasons), begun ? 3 : 1);
		if (begun) {
			assert_string_equal(json_string_value(json_array_get(reasons, 1)),
					    "the cgroup gives 5 % of a CPU (cpu.max 5000 100000)");
			assert_string_equal(json_string_value(json_array_get(reasons, 2)),
					    "the cgroup's CPU quota changed from none to 5 % of a "
					    "CPU during the run");
		}
		json_decref(line);
	}
	s.stopped = STOPPED_CONVERGED;
	expect_end(&s, STATUS_OK, NULL);
	series_close(&s);
	conditions_free(&conditions);
}

/* The gravest condition sets the status, and its reason comes first. */
static void test_the_gravest_is_the_status(void **state)
{
	struct invention invention;
	struct series s;

	(void)state;
	invent(&s, &invention, "one", 0, 0, 1, 2, 1);
	memset(s.samples.noisy, true, s.samples.n);
	expect_end(&s, STATUS_NOISY, "100 % of samples disturbed");
	s.evidence.wrong = strdup("3 is not 4");
	expect_end(&s, STATUS_WRONG, "3 is not 4");
	s.evidence.failure = strdup("no thread");
	expect_end(&s, STATUS_FAILED, "no thread");
	s.evidence.impossible = strdup("no memory");
	expect_end(&s, STATUS_IMPOSSIBLE, "no memory");
	series_close(&s);
}

static void test_never_together_is_said(void **state)
{
	struct benchmark together = ratio_benchmark;
	struct series s;
	struct invention i;
	enum status status;
	json_t *line;

	(void)state;
	invent(&s, &i, "one", 0, 0, 1, 2, 1);
	together.protocol.scored = TOGETHER;
	i.planned.trial.benchmark = &together;
	for (unsigned b = 0; b < s.samples.batches; b++)
		s.samples.time[b] = s.samples.batch[b].estimate = s.samples.batch[b].clean = NAN;
	line = summary(&s, &s, 1, 1.5, &status);
	/* threads never ran together because other programs had the CPUs: not a failure */
	assert_int_equal(status, STATUS_UNCONVERGED);
	assert_non_null(
		strstr(json_string_value(json_array_get(json_object_get(line, "reasons"), 0)),
		       "at the same time"));
	json_decref(line);
	series_close(&s);
}

/* Samples of an incomplete batch are left out; all others stay. */
static void test_a_cut_batch_is_left_out(void **state)
{
	struct series s;
	struct invention i;

	(void)state;
	invent(&s, &i, "one", 0, 0, 1, 2, 1);
	s.samples.complete = s.samples.batches;
	samples_leave_out_cut(&s.samples);
	assert_int_equal(s.samples.n, 10);
	s.samples.complete = 7;
	samples_leave_out_cut(&s.samples);
	assert_int_equal(s.samples.n, 7);
	assert_int_equal(s.samples.batches, 7);
	s.samples.complete = 0; /* it was the first batch */
	samples_leave_out_cut(&s.samples);
	assert_int_equal(s.samples.n, 0);
	assert_int_equal(s.samples.batches, 0);
	series_close(&s);
}

/* ---- notes ---- */

/*
 * Skew is part of the time unless samples are scored TOGETHER, from the start of the last thread.
 * A skew of more than a hundredth of the sample is noted.
 */
static void test_a_skew_that_tells_is_noted(void **state)
{
	static const struct {
		double skew;
		unsigned threads;
		bool together, noted;
	} table[] = { { 0.02, 2, false, true },
		      { 0.005, 2, false, false },
		      { 0.02, 1, false, false },
		      { 0.02, 2, true, false } };

	(void)state;
	for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++) {
		struct invention invention;
		struct benchmark benchmark = ratio_benchmark;
		const json_t *doubt;
		enum status status;
		struct series s;
		bool noted = false;
		json_t *line;
		size_t j;

		invent(&s, &invention, "skewed", 0, 0, 1, table[i].threads, 1);
		benchmark.protocol.scored = table[i].together ? TOGETHER : SPAN;
		invention.planned.trial.benchmark = &benchmark;
		for (size_t k = 0; k < s.samples.n; k++)
			s.samples.skews[k] = table[i].skew;
		line = summary(&s, &s, 1, 1.5, &status);
		json_array_foreach(json_object_get(line, "notes"), j, doubt)
			noted |= strstr(json_string_value(doubt),
					"begin 0.02 s apart, 2 % of a sample") != NULL;
		assert_int_equal(noted, table[i].noted);
		json_decref(line);
		series_close(&s);
	}
}

/* Times that rise from allocation to allocation give a note, and the trial is ok. */
static void test_a_trend_is_a_note(void **state)
{
	struct series s;
	struct invention i;
	enum status status;
	json_t *line;

	(void)state;
	invent(&s, &i, "one", 0, 0, 1, 2, 1);
	for (unsigned b = 0; b < s.samples.batches; b++)
		s.samples.time[b] = s.samples.batch[b].estimate = s.samples.batch[b].clean =
			1 + 0.01 * b;
	line = summary(&s, &s, 1, 1.5, &status);
	assert_int_equal(status, STATUS_OK);
	/* of 10: the median of the last three over the median of the first three, 1.08 / 1.01 */
	assert_string_equal(json_string_value(json_array_get(json_object_get(line, "notes"), 0)),
			    "drifted by +6.9 % from the first third of its "
			    "allocations to the last");
	json_decref(line);
	/* a change that would read +0.0 % is none */
	for (unsigned b = 0; b < s.samples.batches; b++)
		s.samples.time[b] = s.samples.batch[b].estimate = s.samples.batch[b].clean =
			1 + 0.00005 * b;
	line = summary(&s, &s, 1, 1.5, &status);
	assert_int_equal(json_array_size(json_object_get(line, "notes")), 0);
	json_decref(line);
	series_close(&s);
}

static void test_rarely_together_is_a_note(void **state)
{
	struct series s;
	struct invention i;
	enum status status;
	json_t *line;

	(void)state;
	invent(&s, &i, "one", 0, 0, 1, 2, 1);
	s.samples.time[3] = s.samples.time[4] = NAN;
	line = summary(&s, &s, 1, 1.5, &status);
	assert_int_equal(status, STATUS_OK);
	assert_non_null(strstr(json_string_value(json_array_get(json_object_get(line, "notes"), 0)),
			       "2 of its 10 samples"));
	json_decref(line);
	series_close(&s);
}

/* Notes from planning are shown with the result. */
static void test_notes_and_kinds_of_the_plan_are_told(void **state)
{
	struct series s;
	struct invention i;
	enum status status;
	json_t *line;

	(void)state;
	invent(&s, &i, "one", 0, 0, 1, 2, 1);
	line = summary(&s, &s, 1, 1.5, &status);
	assert_null(json_object_get(line, "kinds"));
	json_decref(line);
	i.planned.kinds = (char *)"1 IntelAtom 2800 MHz";
	i.planned.notes = json_pack("[s]", "points.csv: line 1 taken for names: x 100 %s");
	line = summary(&s, &s, 1, 1.5, &status);
	assert_int_equal(status, STATUS_OK);
	assert_string_equal(json_string_value(json_object_get(line, "kinds")), i.planned.kinds);
	assert_string_equal(json_string_value(json_array_get(json_object_get(line, "notes"), 0)),
			    "points.csv: line 1 taken for names: x 100 %s");
	json_decref(line);
	json_decref(i.planned.notes);
	series_close(&s);
}

/* ---- modes ---- */

/*
 * 12 allocations of `each` samples in one batch; samples for which is_slow() is true take 1.5 times
 * as long.
 */
static void invent_modes(struct series *s, struct invention *i, unsigned each,
			 bool (*is_slow)(unsigned allocation, unsigned sample))
{
	enum { ALLOCATIONS = 12 };
	const size_t samples = (size_t)ALLOCATIONS * each;

	invent(s, i, "one", 0, 0, 1, 2, 1);
	s->samples.n = samples;
	s->samples.batches = s->samples.allocations = ALLOCATIONS;
	s->samples.batch = realloc(s->samples.batch, ALLOCATIONS * sizeof(*s->samples.batch));
	s->samples.time = realloc(s->samples.time, samples * sizeof(*s->samples.time));
	s->samples.skews = realloc(s->samples.skews, samples * sizeof(*s->samples.skews));
	s->samples.noisy = realloc(s->samples.noisy, samples * sizeof(*s->samples.noisy));
	for (unsigned k = 0; k < samples; k++) {
		const unsigned a = k / each;
		const double time = (is_slow(a, k) ? 1.5 : 1) + 0.0001 * k;

		s->samples.time[k] = time;
		s->samples.skews[k] = 0;
		s->samples.noisy[k] = false;
		if (k % each == 0)
			s->samples.batch[a] = (struct batch){ .first = k,
							      .samples = each,
							      .allocation = a,
							      .round = a,
							      .estimate = time,
							      .clean = time };
	}
}

static bool two_of_five(unsigned allocation, unsigned sample)
{
	(void)allocation;
	return sample % 5 < 2;
}

static bool every_third(unsigned allocation, unsigned sample)
{
	(void)sample;
	return allocation % 3 == 2;
}

static bool at_the_end(unsigned allocation, unsigned sample)
{
	(void)sample;
	return allocation >= 8;
}

static bool meanwhile(unsigned allocation, unsigned sample)
{
	(void)sample;
	return allocation >= 3 && allocation < 7;
}

/* One pair has one time, like other trials; of three pairs some are farther apart. */
static void test_one_pair_may_have_two_modes(void **state)
{
	(void)state;
	for (unsigned players = 2; players <= 3; players++) {
		struct verdict v = { .reasons = json_array(), .notes = json_array() };
		struct pairs pairs = { .players = players };
		struct series s;
		struct invention i;
		json_t *samples;

		invent_modes(&s, &i, 10, two_of_five);
		s.pairs = &pairs;
		samples = samples_json(&s, &v);
		assert_int_equal(json_array_size(json_object_get(samples, "modes")),
				 players == 2 ? 2 : 0);
		assert_int_equal(v.status, players == 2 ? STATUS_BIMODAL : STATUS_OK);
		json_decref(samples);
		json_decref(v.reasons);
		json_decref(v.notes);
		s.pairs = NULL;
		series_close(&s);
	}
}

static void expect_modes(const json_t *samples, const char *of, double share)
{
	const json_t *modes = json_object_get(samples, "modes");

	assert_string_equal(json_string_value(json_object_get(samples, "modes_of")), of);
	assert_int_equal(json_array_size(modes), 2);
	for (size_t m = 0; m < 2; m++) {
		const json_t *mode = json_array_get(modes, m);

		assert_float_equal(json_number_value(json_object_get(mode, "time")), m ? 1.5 : 1,
				   0.02);
		assert_float_equal(json_number_value(json_object_get(mode, "share")),
				   m ? 1 - share : share, 1e-6);
	}
}

/* Two modes are a status, a change in time is a note: each says where, and gives both values. */
static void test_both_modes_are_told(void **state)
{
	static const struct {
		bool (*is_slow)(unsigned allocation, unsigned sample);
		const char *of;
		double share;
		const char *told[2];
	} table[] = {
		{ two_of_five, "samples", 0.6, { "(60 % / 40 % of samples)" } },
		{ every_third, "allocations", 2 / 3.0, { "(67 % / 33 % of allocations)" } },
		{ at_the_end, NULL, 0, { "changed after allocation 8 of 12: 1.", " and 1.5" } },
		{ meanwhile, NULL, 0, { "allocation 3 of 12, and back after 7: 1.", " and 1.5" } },
	};

	(void)state;
	for (size_t row = 0; row < sizeof(table) / sizeof(*table); row++) {
		struct series s;
		struct invention i;
		enum status status;
		const json_t *samples;
		const char *said;
		json_t *line;

		invent_modes(&s, &i, 10, table[row].is_slow);
		line = summary(&s, &s, 1, 1.5, &status);
		samples = json_object_get(line, "samples");
		assert_int_equal(status, table[row].of ? STATUS_BIMODAL : STATUS_OK);
		said = json_string_value(json_array_get(
			json_object_get(line, table[row].of ? "reasons" : "notes"), 0));
		for (unsigned k = 0; k < 2 && table[row].told[k]; k++)
			assert_non_null(strstr(said, table[row].told[k]));
		if (table[row].of)
			expect_modes(samples, table[row].of, table[row].share);
		else
			assert_null(json_object_get(samples, "modes"));
		json_decref(line);
		series_close(&s);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_end_is_told_with_its_cause),
		cmocka_unit_test(test_a_wide_interval_is_told_by_its_ends),
		cmocka_unit_test(test_what_held_it_up_is_a_reason),
		cmocka_unit_test(test_the_gravest_is_the_status),
		cmocka_unit_test(test_never_together_is_said),
		cmocka_unit_test(test_a_cut_batch_is_left_out),
		cmocka_unit_test(test_a_skew_that_tells_is_noted),
		cmocka_unit_test(test_a_trend_is_a_note),
		cmocka_unit_test(test_rarely_together_is_a_note),
		cmocka_unit_test(test_notes_and_kinds_of_the_plan_are_told),
		cmocka_unit_test(test_one_pair_may_have_two_modes),
		cmocka_unit_test(test_both_modes_are_told),
	};

	return cmocka_run_group_tests(tests, tree_make, tree_remove);
}
