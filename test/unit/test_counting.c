/* SPDX-License-Identifier: Apache-2.0 */
/* What a run counts beside its times: which events, in which batches, and the divisor. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "counted_run.h"

/* Passes take turns with a batch that counts nothing; batches add up to the trial's total. */
static void passes_take_turns(void **state)
{
	static const char *const counted[3][2] = { { "ones", "seconds" },
						   { "threes", "joules" },
						   { NULL } };
	struct options o = options(&plain, "ones,seconds,threes,joules");
	json_t *lines, *line, *trial;
	double sum = 0;
	size_t i, batches = 0;

	(void)state;
	assert_int_equal(quietly(&o), 0);
	lines = read_back();
	trial = first(lines, "trial");
	json_array_foreach(lines, i, line) {
		json_t *counts = json_object_get(line, "counters");

		if (strcmp(json_string_value(json_object_get(line, "type")), "samples"))
			continue;
		assert_int_equal(json_object_size(counts), counted[batches % 3][0] ? 2 : 0);
		for (unsigned j = 0; j < 2 && counted[batches % 3][j]; j++)
			assert_non_null(json_object_get(counts, counted[batches % 3][j]));
		sum += batches % 3 == 0 ? real(counts, "ones") : 0;
		batches++;
	}
	assert_int_equal(batches, 7);
	is(sum, 3 * 21);
	is(real(counter(lines, "ones"), "total"), sum);
	is(real(counter(lines, "ones"), "samples"), 3);
	is(real(counter(lines, "threes"), "samples"), 2);
	assert_true(isfinite(real(json_object_get(trial, "counting"), "with")) &&
		    isfinite(real(json_object_get(trial, "counting"), "without")));
	is(real(json_object_get(first(lines, "header"), "counters"), "passes"), 2);
	json_decref(lines);
}

/* Values are counts of all workers per unit of all workers; the values by worker add up to them. */
static void counts_are_of_the_work_that_was_done(void **state)
{
	struct options o = options(&plain, "ones,seconds,threes,joules");
	json_t *lines;

	(void)state;
	assert_int_equal(quietly(&o), 0);
	lines = read_back();
	is(real(counter(lines, "ones"), "value"), 1);
	is(real(counter(lines, "seconds"), "value"), 0.125);
	is(real(counter(lines, "threes"), "value"), 3);
	is(in_list(counter(lines, "threes"), "per_thread", 0), 3 * 10 / 21.0);
	is(in_list(counter(lines, "threes"), "per_thread", 1), 3 * 11 / 21.0);
	/* one of the two workers counts for the package */
	is(real(counter(lines, "joules"), "value"), 0.5 * 10 / 21.0);
	is(in_list(counter(lines, "joules"), "per_thread", 0), 0.5 * 10 / 21.0);
	assert_true(json_is_null(
		json_array_get(json_object_get(counter(lines, "joules"), "per_thread"), 1)));
	assert_string_equal(json_string_value(json_object_get(counter(lines, "joules"), "scope")),
			    "package");
	assert_string_equal(json_string_value(json_object_get(counter(lines, "joules"), "unit")),
			    "J");
	assert_string_equal(json_string_value(json_object_get(counter(lines, "ones"), "per")),
			    "turn");
	json_decref(lines);
}

/*
 * If all workers do a unit together, counts are per part of it; with roles, they are per unit of
 * the first role.
 */
static void counts_are_for_each_of_what_the_benchmark_says(void **state)
{
	struct options o = options(&fourfold, "ones"), led = options(&plain, "ones");
	json_t *lines;

	(void)state;
	assert_int_equal(quietly(&o), 0);
	lines = read_back();
	is(real(counter(lines, "ones"), "value"), 21 / (10.5 * 4));
	assert_string_equal(json_string_value(json_object_get(counter(lines, "ones"), "per")),
			    "quarter");
	json_decref(lines);
	led.variant = "led";
	assert_int_equal(quietly(&led), 0);
	lines = read_back();
	is(real(counter(lines, "ones"), "value"), 21 / 10.0);
	json_decref(lines);
}

static void the_default_set_takes_the_first_event_that_there_is(void **state)
{
	struct options o = options(&plain, "default,ones,seconds");
	json_t *lines, *events, *asked;

	(void)state;
	assert_int_equal(quietly(&o), 0);
	lines = read_back();
	events = json_object_get(json_object_get(first(lines, "header"), "counters"), "events");
	asked = json_object_get(json_object_get(first(lines, "header"), "counters"), "asked");
	assert_int_equal(json_array_size(asked), 3);
	assert_string_equal(json_string_value(json_array_get(asked, 0)), "default");
	assert_int_equal(json_array_size(events), 4); /* no event is listed twice */
	assert_string_equal(json_string_value(json_object_get(json_array_get(events, 0), "name")),
			    "threes");
	assert_true(json_is_null(json_object_get(named(events, "lacking"), "source")));
	is(real(counter(lines, "threes"), "value"), 3);
	is(real(counter(lines, "ones"), "value"), 1);
	is_none(counter(lines, "lacking"), "not in the table");
	json_decref(lines);
}

static void a_suite_counts_for_each_benchmark_what_is_its_own(void **state)
{
	struct options o = options(NULL, "default,seconds");
	json_t *lines, *line;
	size_t i, without = 0;

	(void)state;
	assert_int_equal(quietly(&o), 0);
	lines = read_back();
	json_array_foreach(lines, i, line) {
		json_t *list = json_object_get(line, "counters");

		if (strcmp(json_string_value(json_object_get(line, "type")), "trial"))
			continue;
		assert_non_null(named(list, "seconds"));
		if (strcmp(json_string_value(json_object_get(line, "benchmark")), "bare")) {
			assert_non_null(named(list, "threes"));
			continue;
		}
		assert_null(named(list, "threes"));
		/* one pass of two batches suffices */
		is(real(named(list, "seconds"), "samples"), 4);
		without++;
	}
	assert_int_equal(without, 1);
	json_decref(lines);
}

static void a_zero_is_believed_of_what_was_seen_to_count(void **state)
{
	struct options o = options(&plain, "none,rare");
	json_t *lines, *note;
	size_t i, notes = 0;

	(void)state;
	assert_int_equal(quietly(&o), 0);
	lines = read_back();
	is(real(counter(lines, "none"), "value"), 0);
	is(real(counter(lines, "rare"), "value"), 0);
	assert_true(json_is_false(json_object_get(counter(lines, "none"), "trusted")));
	assert_true(json_is_string(json_object_get(counter(lines, "none"), "why")));
	assert_true(json_is_true(json_object_get(counter(lines, "rare"), "trusted")));
	assert_true(is_absent(json_object_get(counter(lines, "rare"), "why")));
	json_array_foreach(json_object_get(first(lines, "trial"), "notes"), i, note)
		notes += strncmp(json_string_value(note), "none is not to be trusted", 25) == 0;
	assert_int_equal(notes, 1);
	json_decref(lines);
}

/* An event that fails is left out; the others of its pass are counted. */
static void what_was_not_counted_has_a_reason(void **state)
{
	struct options o = options(&plain, "busy,ones,shared,threes"),
		       one = options(&plain, "ones,threes");
	json_t *lines;

	(void)state;
	assert_int_equal(quietly(&o), 0);
	lines = read_back();
	is_none(counter(lines, "busy"), "does not start");
	/* the provider that would have counted it */
	assert_string_equal(json_string_value(json_object_get(counter(lines, "busy"), "source")),
			    "papi");
	is_none(counter(lines, "shared"), "no sample was counted throughout");
	is(real(counter(lines, "ones"), "value"), 1);
	json_decref(lines);
	one.repeats = 1;
	assert_int_equal(quietly(&one), 0);
	lines = read_back();
	is(real(counter(lines, "ones"), "value"), 1);
	is_none(counter(lines, "threes"), "no batch was left");
	assert_true(is_absent(
		json_object_get(json_object_get(first(lines, "trial"), "counting"), "without")));
	json_decref(lines);
}

/*
 * Batches 0, 2, 4 and 6 of a trial count the event. The first two fail; in the next trial none
 * fails.
 */
static void what_fails_is_tried_again(void **state)
{
	struct options o = options(&plain, "late");
	json_t *lines, *line;
	size_t i;

	(void)state;
	o.variant = "plain,led";
	assert_int_equal(quietly(&o), 0);
	lines = read_back();
	json_array_foreach(lines, i, line) {
		json_t *late = named(json_object_get(line, "counters"), "late");

		if (strcmp(json_string_value(json_object_get(line, "type")), "trial"))
			continue;
		assert_true(real(late, "value") >= 1 && is_absent(json_object_get(late, "why")) &&
			    json_is_true(json_object_get(late, "trusted")));
		is(real(late, "total"), real(late, "samples") * 21);
	}
	line = json_object_get(first(lines, "header"), "counters");
	assert_true(json_is_null(
		json_object_get(named(json_object_get(line, "events"), "late"), "why")));
	json_decref(lines);
}

static void two_counts_make_a_ratio(void **state)
{
	struct options o = options(&plain, "PAPI_TOT_CYC,PAPI_TOT_INS");
	json_t *lines;

	(void)state;
	assert_int_equal(quietly(&o), 0);
	lines = read_back();
	is(real(counter(lines, "instructions per cycle"), "value"), 1.5);
	assert_string_equal(json_string_value(json_object_get(
				    counter(lines, "instructions per cycle"), "source")),
			    "ratio");
	assert_null(named(json_object_get(first(lines, "trial"), "counters"), "branch miss rate"));
	json_decref(lines);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		/* first: a process must not fork once it has threads of OpenMP */
		cmocka_unit_test(passes_take_turns),
		cmocka_unit_test(counts_are_of_the_work_that_was_done),
		cmocka_unit_test(counts_are_for_each_of_what_the_benchmark_says),
		cmocka_unit_test(the_default_set_takes_the_first_event_that_there_is),
		cmocka_unit_test(a_suite_counts_for_each_benchmark_what_is_its_own),
		cmocka_unit_test(a_zero_is_believed_of_what_was_seen_to_count),
		cmocka_unit_test(what_was_not_counted_has_a_reason),
		cmocka_unit_test(what_fails_is_tried_again),
		cmocka_unit_test(two_counts_make_a_ratio),
	};

	return cmocka_run_group_tests(tests, begin_runs, end_runs);
}
