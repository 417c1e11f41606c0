/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Totals of counts: extrapolated counts, counts of several ranks, and no counts.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "count/tally.h"
#include "kit/agree.h"
#include "counted_run.h"

static int guesses(struct team *team, void *argument)
{
	static const double of[4][3][2] = {
		{ { 4, 1 }, { -1, 3 }, { 2, 0 } }, /* 5 and 4 */
		/* without the sample that one worker did not count: 18 and -1 */
		{ { 9, 9 }, { NAN, 5 }, { 9, -10 } },
		{ { 9, 0 }, { -7, 2 }, { 0, NAN } }, /* 2 and 2 */
		{ { NAN, 1 }, { 1, NAN }, { NAN, NAN } },
	};
	static const char *const why[4] = { NULL, "extrapolated count is negative", NULL,
					    "it got no turn in any sample" };
	const struct place place[2] = { { 0, 0 }, { 0, 0 } };
	const struct trial trial = {
		.benchmark = &plain, .variant = variants, .threads = 2, .place = place
	};
	struct tally t;

	assert_true(tally_open(&t, argument, &trial));
	for (unsigned batch = 0; batch < 4; batch++) {
		const unsigned number = 2 * batch; /* odd batches count nothing */

		assert_true(tally_room(&t, number + 1));
		assert_true(tally_counts_event(&t, number, 0));
		assert_false(tally_counts(&t, number + 1));
		tally_begin(&t, team, number);
		for (unsigned i = 0; i < 3; i++) {
			memcpy(guess, of[batch][i], sizeof(guess));
			tally_add(&t, number, 10, 2);
		}
		tally_end(&t, team, number);
		if (why[batch])
			assert_non_null(strstr(t.why[0], why[batch]));
	}
	is(t.sum[0].count, 9);
	is(t.sum[0].units, 30);
	assert_int_equal(t.sum[2].samples, 0);
	is(t.sum[4].count, 4);
	is(t.sum[4].units, 20);
	assert_int_equal(t.sum[6].samples, 0);
	is(t.of_worker[0], 7);
	is(t.of_worker[1], 6);
	tally_close(&t);
	return 0;
}

/* Without multiplexing nothing is extrapolated: a negative count has another reason. */
static int falls(struct team *team, void *argument)
{
	const struct place place[2] = { { 0, 0 }, { 0, 0 } };
	const struct trial trial = {
		.benchmark = &plain, .variant = variants, .threads = 2, .place = place
	};
	struct tally t;

	assert_true(tally_open(&t, argument, &trial));
	assert_true(tally_room(&t, 1));
	assert_true(tally_counts_event(&t, 0, 0));
	tally_begin(&t, team, 0);
	memcpy(guess, (const double[]){ -1, 2 }, sizeof(guess));
	tally_add(&t, 0, 10, 2);
	tally_end(&t, team, 0);
	assert_int_equal(t.sum[0].samples, 0);
	assert_non_null(strstr(t.why[0], "its count is negative: its counter runs backwards"));
	tally_close(&t);
	return 0;
}

static void a_counter_that_falls(void **state)
{
	const struct benchmark *b[] = { &plain };
	const struct counting_asked asked = { .list = "guessed" };
	struct counting *c;

	(void)state;
	assert_int_equal(counting_open(&c, asked, b, 1, NULL), COUNTING_READY);
	assert_int_equal(team_open(2, falls, c), 0);
	counting_close(c);
}

/* Extrapolated counts rise and fall: only a whole batch of samples has a count, or none. */
static void guesses_are_added_up(void **state)
{
	const struct benchmark *b[] = { &plain };
	const struct counting_asked asked = { .list = "guessed", .multiplex = true };
	struct counting *c;

	(void)state;
	assert_int_equal(counting_open(&c, asked, b, 1, NULL), COUNTING_READY);
	assert_int_equal(team_open(2, guesses, c), 0);
	counting_close(c);
}

/* Even if no event was asked for. */
static void the_kernels_own_are_always_there(void **state)
{
	static const char *const own[] = { "minor-faults",	 "major-faults",
					   "voluntary-switches", "involuntary-switches",
					   "migrations",	 "steal" };
	struct options o = options(&plain, NULL);
	json_t *lines, *listed, *totals, *samples;

	(void)state;
	assert_int_equal(quietly(&o), 0);
	lines = read_back();
	assert_true(json_is_null(json_object_get(first(lines, "header"), "counters")));
	assert_true(is_absent(json_object_get(first(lines, "trial"), "counting")));
	assert_true(is_absent(json_object_get(first(lines, "samples"), "counters")));
	assert_true(is_absent(json_object_get(first(lines, "trial"), "counters")));
	listed = json_object_get(json_object_get(first(lines, "benchmark"), "counters"), "kernel");
	assert_int_equal(json_array_size(listed), sizeof(own) / sizeof(*own));
	totals = json_object_get(first(lines, "trial"), "kernel");
	for (size_t i = 0; i < sizeof(own) / sizeof(*own); i++) {
		const json_t *total = json_object_get(totals, own[i]);

		assert_string_equal(
			json_string_value(json_object_get(json_array_get(listed, i), "name")),
			own[i]);
		assert_true(!total || json_number_value(total) > 0);
	}
	samples = json_object_get(first(lines, "trial"), "samples");
	assert_int_equal(json_number_value(json_object_get(samples, "parts")), 7 * 21);
	json_decref(lines);
}

static void what_is_wholly_impossible_ends_the_run(void **state)
{
	const int errors = dup(STDERR_FILENO), kept = memfd_create("stderr", MFD_CLOEXEC);
	struct options o = options(&plain, "lacking,missing"), unset = options(&bare, "default"),
		       failing = options(&plain, "busy,shared,missing");
	char said[1024] = "";
	json_t *lines;

	(void)state;
	dup2(kept, STDERR_FILENO);
	assert_int_equal(quietly(&o), 3);
	assert_int_equal(access(path, F_OK), -1);
	assert_int_equal(quietly(&unset), 3);
	assert_int_equal(quietly(&failing), 3);
	failing.counters_optional = true;
	assert_int_equal(quietly(&failing), 0);
	o.counters_optional = true;
	o.multiplex = true;
	assert_int_equal(quietly(&o), 0);
	dup2(errors, STDERR_FILENO);
	assert_true(multiplexed);
	assert_true(pread(kept, said, sizeof(said) - 1, 0) > 0);
	assert_ptr_equal(strstr(said,
				"locus: --counters: lacking, missing: it is not in the table\n"
				"locus: --counters: bare has no default events: name some\n"
				"locus: --counters: missing: it is not in the table\n"
				"locus: --counters: no event was counted in any sample: it "
				"does not start\n"
				"locus: --counters: missing: it is not in the table\n"
				"locus: --counters: lacking, missing: it is not in the table\n"),
			 said);
	lines = read_back();
	is_none(counter(lines, "missing"), "not in the table");
	is(real(json_object_get(first(lines, "header"), "counters"), "passes"), 0);
	assert_true(is_absent(json_object_get(first(lines, "trial"), "counting")));
	json_decref(lines);
	close(errors);
	close(kept);
}

static int run_on_ranks(const struct ranks *ranks)
{
	struct options o = options(&fourfold, "ones,seconds,local,joules,moves,threes,busy,stuck");

	return engine_run(&o, table, ranks);
}

static int run_on_lacking_ranks(const struct ranks *ranks)
{
	struct options o = options(&fourfold, "local,lacking");

	return engine_run(&o, table, ranks);
}

/* Counts are sums over the ranks; an event that one rank cannot count is counted by none. */
static void ranks_count_together(void **state)
{
	char said[4096];
	json_t *lines;

	(void)state;
	unlink(path);
	assert_int_equal(on_all_ranks(run_on_ranks, said, sizeof(said)), 0);
	lines = read_back();
	is(real(counter(lines, "ones"), "value"), 3 * 21 / (10.5 * 4));
	is(real(counter(lines, "seconds"), "value"), 0.125 * 3 * 21 / (10.5 * 4));
	is(real(counter(lines, "ones"), "total"), 3 * 3 * 21);
	/* of the package that they share */
	is(real(counter(lines, "joules"), "value"), 0.5 * 10 / (10.5 * 4));
	assert_int_equal(json_array_size(json_object_get(counter(lines, "threes"), "per_thread")),
			 2 * RANKS);
	is(in_list(counter(lines, "threes"), "per_thread", 3), 3 * 11 / (10.5 * 4));
	for (unsigned i = 1; i < 2 * RANKS; i++)
		assert_true(json_is_null(json_array_get(
			json_object_get(counter(lines, "joules"), "per_thread"), i)));
	is_none(counter(lines, "local"), "on rank 1 (");
	is_none(counter(lines, "moves"), "the ranks' processors");
	is_none(counter(lines, "busy"), "does not start");
	is_none(counter(lines, "stuck"), "on rank 1 (");
	is_none(counter(lines, "stuck"), "does not start");
	assert_non_null(strstr(said, "locus: --counters: local: on rank 1 ("));
	json_decref(lines);
	assert_int_equal(on_all_ranks(run_on_lacking_ranks, NULL, 0), 3);
}

static int sum_reals(const struct ranks *ranks)
{
	double x[2500];

	for (unsigned i = 0; i < 2500; i++)
		x[i] = i + 0.25 + ranks->rank;
	x[7] = ranks->rank == 1 ? NAN : 1;
	x[8] = ranks->rank ? 1e15 : -1e-9;
	agree_sum(ranks, x, 2500);
	if (!isnan(x[7]) || fabs(x[8] - 2e15) > 1)
		return 1;
	for (unsigned i = 9; i < 2500; i++)
		if (fabs(x[i] - (3.0 * i + 3.75)) > 1e-9)
			return 2;
	return 0;
}

static void reals_are_summed_alike(void **state)
{
	double x[2] = { 0.1, NAN };

	(void)state;
	agree_sum(NULL, x, 2);
	/* NOLINT(clang-analyzer-core.UndefinedBinaryOperatorResult) */
	assert_true(x[0] == 0.1 && isnan(x[1]));
	assert_int_equal(on_all_ranks(sum_reals, NULL, 0), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		/* first: a process must not fork once it has threads of OpenMP */
		cmocka_unit_test(ranks_count_together),
		cmocka_unit_test(reals_are_summed_alike),
		cmocka_unit_test(guesses_are_added_up),
		cmocka_unit_test(a_counter_that_falls),
		cmocka_unit_test(the_kernels_own_are_always_there),
		cmocka_unit_test(what_is_wholly_impossible_ends_the_run),
	};

	return cmocka_run_group_tests(tests, begin_runs, end_runs);
}
