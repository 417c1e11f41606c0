/* SPDX-License-Identifier: Apache-2.0 */
/* Evidence beside the samples of a trial: noise, what counting costs, where pages lay. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "invented.h"
#include "machine/topology/topology.h"

/*
 * Noisy outranks unconverged: the numbers show a wide interval, but only the status shows a
 * disturbance. The reasons of both are recorded.
 */
static void test_noise_is_graver_than_a_wide_interval(void **state)
{
	struct series s;
	struct invention i;
	enum status status;
	json_t *line;

	(void)state;
	invent(&s, &i, "one", 0, 0, 1, 2, 1);
	s.stopped = STOPPED_BUDGET;
	for (unsigned noisy = 0; noisy < 2; noisy++) {
		memset(s.samples.noisy, (int)noisy, s.samples.n);
		line = summary(&s, &s, 1, 1.5, &status);
		assert_int_equal(status, noisy ? STATUS_NOISY : STATUS_UNCONVERGED);
		assert_int_equal(json_array_size(json_object_get(line, "reasons")), 1 + noisy);
		json_decref(line);
	}
	series_close(&s);
}

/*
 * Time that the host stole belongs to no sample: much of it makes a trial noisy, little does not.
 */
static void test_stolen_time_is_noise(void **state)
{
	struct series s;
	struct invention i;

	(void)state;
	invent(&s, &i, "one", 0, 0, 1, 2, 1);
	s.stopped = STOPPED_CONVERGED;
	for (unsigned much = 0; much < 2; much++) {
		enum status status;
		json_t *line;
		const char *reason;

		s.evidence.noise.steal = much ? 2 : 0.5; /* s, of 10 */
		s.evidence.noise.migrations = much ? 3 : 0;
		line = summary(&s, &s, 1, 1.5, &status);
		assert_int_equal(status, much ? STATUS_NOISY : STATUS_OK);
		reason = json_string_value(json_array_get(json_object_get(line, "reasons"), 0));
		assert_int_equal(!!reason, much);
		if (much)
			assert_non_null(strstr(reason, ", 3 migrations, 0 s off CPU, 2 s stolen"));
		json_decref(line);
	}
	series_close(&s);
}

/* A note if the intervals with counting and without are disjoint; none if they overlap. */
static void test_what_counting_costs_is_a_note(void **state)
{
	enum { BATCHES = 12 };
	struct batch batch[BATCHES];
	struct series s;
	struct invention i;
	enum status status;
	json_t *line, *counting;

	(void)state;
	invent(&s, &i, "one", 0, 0, 1, 2, 1);
	free(s.samples.batch);
	s.samples.batch = batch;
	s.samples.batches = BATCHES;
	s.tally.passes = 1; /* every other batch counts */
	for (unsigned slower = 0; slower < 2; slower++) {
		for (unsigned b = 0; b < BATCHES; b++) {
			const unsigned turn = b / 2 * 5 % 6; /* without a trend */

			batch[b] = (struct batch){ .first = b % 10,
						   .samples = 1,
						   .allocation = b / 2,
						   .estimate = (b % 2 ? 1 : 1 + slower) *
							       (1 + 0.001 * turn) };
			batch[b].clean = batch[b].estimate;
		}
		line = summary(&s, &s, 1, 1.5, &status);
		counting = json_object_get(line, "counting");
		assert_true(fabs(json_real_value(json_object_get(counting, "with")) -
				 (1 + slower) * 1.0025) < 1e-9);
		assert_true(fabs(json_real_value(json_object_get(counting, "without")) - 1.0025) <
			    1e-9);
		assert_int_equal(json_array_size(json_object_get(counting, "with_ci")), 2);
		assert_int_equal(json_array_size(json_object_get(line, "notes")), slower);
		if (slower)
			assert_non_null(strstr(json_string_value(json_array_get(
						       json_object_get(line, "notes"), 0)),
					       "counting changes its time"));
		json_decref(line);
	}
	s.samples.batch = NULL;
	series_close(&s);
}

/* ---- noise that is set aside ---- */

enum { ALLOCATIONS = 6, BATCHES = 12, IN_BATCH = 3 };

/*
 * Two batches in each allocation, of three samples. Two of the samples are noisy and take twice as
 * long, so a batch's median is noise; in batch 7 all are noisy, in 6 none. Allocation a takes 1 + a
 * / 100, its second batch 1 % more. One of two batches counts events.
 */
static void invent_noise(struct series *s, struct invention *i, struct batch batch[BATCHES],
			 unsigned passes)
{
	invent(s, i, "one", 0, 0, 1, 2, 1);
	free(s->samples.batch);
	s->samples.batch = batch;
	s->samples.batches = BATCHES;
	s->samples.allocations = ALLOCATIONS;
	s->tally.passes = passes;
	s->samples.n = BATCHES * IN_BATCH;
	s->samples.time = realloc(s->samples.time, s->samples.n * sizeof(*s->samples.time));
	s->samples.skews = realloc(s->samples.skews, s->samples.n * sizeof(*s->samples.skews));
	s->samples.noisy = realloc(s->samples.noisy, s->samples.n * sizeof(*s->samples.noisy));
	memset(s->samples.skews, 0, s->samples.n * sizeof(*s->samples.skews));
	for (unsigned b = 0; b < BATCHES; b++) {
		const unsigned allocation = b / 2;
		const double time = (1 + allocation / 100.0) * (b % 2 ? 1.01 : 1);

		batch[b] = (struct batch){ .first = (size_t)b * IN_BATCH,
					   .samples = IN_BATCH,
					   .allocation = b / 2,
					   .round = b,
					   .cycle = 0.25,
					   .estimate = b == 6 ? time : 2 * time,
					   .clean = b == 7 ? NAN : time };
		for (unsigned k = 0; k < IN_BATCH; k++) {
			s->samples.noisy[b * IN_BATCH + k] = b == 7 || (k && b != 6);
			s->samples.time[b * IN_BATCH + k] =
				time * (1 + s->samples.noisy[b * IN_BATCH + k]);
		}
	}
}

static double time_of_batch(const json_t *line, unsigned b)
{
	const json_t *columns = json_object_get(json_object_get(line, "batches"), "metrics");
	const json_t *one = json_array_get(json_object_get(columns, "time"), b);

	return json_is_number(one) ? json_number_value(one) : NAN;
}

/*
 * Cycles, batches and derived values use the same samples as the time. A metric with one value for
 * all samples is that number, even if a batch has no clean sample.
 */
static void test_noise_set_aside_comes_back_nowhere(void **state)
{
	struct benchmark b = ratio_benchmark;
	struct batch batch[BATCHES];
	struct invention i;
	enum status status;
	struct series s;
	json_t *line;

	(void)state;
	invent_noise(&s, &i, batch, 0);
	invent_cost(&s, &i, &b, 50);
	for (size_t k = 0; k < s.samples.n; k++)
		s.samples.value[COST][k] = s.samples.noisy[k] ? 7 : 5;
	for (unsigned kept = 0; kept < 2; kept++) {
		/* if an allocation has no undisturbed sample, all of them count */
		const double more = kept ? 2 : 1;

		if (kept)
			memset(s.samples.noisy, 1, 2 * IN_BATCH);
		line = summary(&s, &s, 1, 1.5, &status);
		assert_float_equal(json_number_value(json_object_get(line, "cycles")) / 4 / more,
				   1.03, 0.02);
		assert_float_equal(json_number_value(json_object_get(line, "cycle")), 0.25, 1e-9);
		assert_float_equal(time_of_batch(line, 3) / more, 1.01 * 1.01, 1e-9);
		assert_int_equal(isnan(time_of_batch(line, 7)), !kept);
		assert_int_equal(
			json_is_number(json_object_get(
				json_object_get(json_object_get(line, "batches"), "metrics"),
				"cost")),
			!kept);
		json_decref(line);
	}
	s.samples.batch = NULL;
	series_close(&s);
}

/* So does the cost of counting: every other batch counts, and one of those has no clean sample. */
static void test_what_counting_costs_is_told_without_noise(void **state)
{
	struct batch batch[BATCHES];
	struct invention i;
	enum status status;
	struct series s;
	json_t *line;

	(void)state;
	invent_noise(&s, &i, batch, 1);
	line = summary(&s, &s, 1, 1.5, &status);
	for (unsigned with = 0; with < 2; with++) {
		const char *key = with ? "with" : "without";
		const json_t *counting = json_object_get(line, "counting");

		assert_in_range(1000 * json_number_value(json_object_get(counting, key)), 1000,
				1061);
	}
	json_decref(line);
	s.samples.batch = NULL;
	series_close(&s);
}

/* ---- placement of pages ---- */

/*
 * A made-up trial of two threads on node 0 of a machine with two nodes, whose placement was read
 * back.
 */
struct housed {
	struct machine *machine;
	struct place place[2];
	struct invention invention;
	struct series series;
};

static void house(struct housed *h)
{
	const char *error;

	h->machine = machine_open("numa:2 core:2 pu:1", &error);
	assert_non_null(h->machine);
	for (unsigned i = 0; i < 2; i++)
		h->place[i] = (struct place){ h->machine->cpu[i].number, h->machine->cpu[0].node };
	invent(&h->series, &h->invention, "one", 0, 0, 1, 2, 1);
	h->invention.planned.trial.machine = h->machine;
	h->invention.planned.trial.place = h->place;
	h->series.evidence.placements.known = true;
	h->series.evidence.placements.before = h->series.evidence.placements.after =
		(struct placement){ .how = PLACEMENT_VERIFIED, .pages = 10000, .page = 4096 };
}

static void leave(struct housed *h)
{
	series_close(&h->series);
	machine_close(h->machine);
}

/* Checks that the first note contains `part`; NULL: there are no notes. */
static void expect_note(struct housed *h, const char *part)
{
	enum status status;
	json_t *line = summary(&h->series, &h->series, 1, 1.5, &status);
	const char *note = json_string_value(json_array_get(json_object_get(line, "notes"), 0));

	assert_int_equal(!note, !part);
	assert_true(!note || strstr(note, part));
	json_decref(line);
}

/* Up to a thousandth of the pages may be misplaced, before the samples and after them. */
static void test_pages_astray_are_a_reason(void **state)
{
	struct housed h;

	(void)state;
	house(&h);
	expect_note(&h, NULL);
	expect_end(&h.series, STATUS_OK, NULL);
	h.series.evidence.placements.after.misplaced = 10;
	expect_end(&h.series, STATUS_OK, NULL);
	h.series.evidence.placements.after.misplaced = 11;
	expect_end(&h.series, STATUS_MISPLACED, "11 of 10000 pages were misplaced");
	h.series.evidence.moved = strdup("numa_balancing is 1");
	expect_end(&h.series, STATUS_MISPLACED, "misplaced after its samples: numa_balancing");
	h.machine->policy.kind = MEMORY_POLICY_STEERED;
	expect_end(&h.series, STATUS_MISPLACED, "lift it with numactl --localalloc");
	leave(&h);
}

/* If pages were not read, their number is null. */
static void test_pages_that_were_not_read_are_a_note(void **state)
{
	struct placement *before;
	const json_t *placement;
	enum status status;
	struct housed h;
	json_t *line;

	(void)state;
	house(&h);
	before = &h.series.evidence.placements.before;
	before->how = PLACEMENT_COUNTED;
	before->why_not = strdup("move_pages is forbidden");
	expect_note(&h, "were counted by node, not checked one by one: move_pages");
	before->how = PLACEMENT_UNVERIFIED;
	before->huge_unknown = true;
	expect_note(&h, "are unverified: move_pages");
	line = summary(&h.series, &h.series, 1, 1.5, &status);
	placement = json_object_get(line, "placement");
	assert_string_equal(json_string_value(json_object_get(placement, "how")), "unverified");
	assert_true(json_is_null(json_object_get(placement, "misplaced")));
	assert_true(json_is_null(json_object_get(placement, "huge_bytes")));
	assert_true(json_is_string(json_object_get(placement, "huge_bytes_why")));
	json_decref(line);
	leave(&h);
}

static void test_huge_pages_that_were_not_had_are_a_note(void **state)
{
	struct placement *before;
	struct housed h;

	(void)state;
	house(&h);
	before = &h.series.evidence.placements.before;
	before->thp = 4 << 20;
	before->huge = 2 << 20;
	expect_note(&h, "4194304 bytes were requested on transparent huge pages, 2097152 lie");
	before->huge_unknown = true; /* huge pages were not counted */
	expect_note(&h, NULL);
	before->huge_unknown = false;
	before->huge = before->thp;
	expect_note(&h, NULL);
	leave(&h);
}

/*
 * Only for nodes with threads of the trial, and only if no parameter sets the node of its memory.
 */
static void test_a_node_without_first_touch_is_a_note(void **state)
{
	static const struct parameter on_node[] = {
		[WORDS] = { .name = "words", .type = P_CHOICE, .choices = "one,two" },
		[SIZE_OF] = { .name = "node", .type = P_NODE },
	};
	struct benchmark benchmark = ratio_benchmark;
	struct housed h;

	(void)state;
	house(&h);
	h.machine->node[1].first_touch = h.machine->node[0].number;
	expect_note(&h, NULL);
	h.machine->node[1].first_touch = h.machine->node[1].number;
	h.machine->node[0].first_touch = h.machine->node[1].number;
	expect_note(&h, "what they touch first lies on node 1");
	benchmark.parameters = on_node;
	benchmark.n_ratios = 0;
	h.invention.planned.trial.benchmark = &benchmark;
	expect_note(&h, NULL);
	leave(&h);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_noise_is_graver_than_a_wide_interval),
		cmocka_unit_test(test_stolen_time_is_noise),
		cmocka_unit_test(test_what_counting_costs_is_a_note),
		cmocka_unit_test(test_noise_set_aside_comes_back_nowhere),
		cmocka_unit_test(test_what_counting_costs_is_told_without_noise),
		cmocka_unit_test(test_pages_astray_are_a_reason),
		cmocka_unit_test(test_pages_that_were_not_read_are_a_note),
		cmocka_unit_test(test_huge_pages_that_were_not_had_are_a_note),
		cmocka_unit_test(test_a_node_without_first_touch_is_a_note),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
