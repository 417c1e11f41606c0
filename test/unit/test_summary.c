/* SPDX-License-Identifier: Apache-2.0 */
/* The summary of a trial: its status with the reasons, its ratios, its notes. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "harness/judge/summary.h"
#include "harness/sample/series.h"
#include "machine/topology/topology.h"
#include "tree.h"

static const struct role by_units[] = { { "worker", NULL, BY_COUNT } };

/* ---- ratios ---- */

enum { WORDS, SIZE_OF };
static const struct parameter ratio_parameters[] = {
	[WORDS] = { "words", NULL, "where", P_CHOICE, .choices = "shared,dense,padded",
		    .value = { "shared" } },
	[SIZE_OF] = { "size", "B", "bytes", P_SIZE, .value = { "1" } },
};
static const struct ratio ratio_rows[] = {
	{ "slowdown", "of a layout", WORDS, "dense", "padded", NULL },
	{ "slowdown", "of a variant", P_VARIANT, "racy", "atomic", NULL },
};
static const struct metric just_time[] = { TIME_METRIC("turn") };
static const struct variant ratio_variants[] = { { .name = "racy" }, { .name = "atomic" } };
static const struct benchmark ratio_benchmark = { .name = "sample",
						  .protocol = { 1, "none" },
						  .unit = { "turn" },
						  ROWS(parameters, ratio_parameters),
						  ROWS(metrics, just_time),
						  ROWS(roles, by_units),
						  ROWS(ratios, ratio_rows),
						  ROWS(variants, ratio_variants) };

/*
 * A made-up series of ten samples, each a batch in an allocation of its own, from 0.955 to 1.045
 * times a given time.
 */
struct invention {
	union value value[2];
	struct planned planned;
};

static void invent(struct series *s, struct invention *i, const char *id, unsigned variant,
		   unsigned words, uint64_t size, unsigned threads, double time)
{
	enum { SAMPLES = 10 };

	i->value[WORDS].choice = words;
	i->value[SIZE_OF].count = size;
	i->planned = (struct planned){ .identity = (char *)"", .bind = "close" };
	i->planned.trial = (struct trial){ .benchmark = &ratio_benchmark,
					   .variant = &ratio_variants[variant],
					   .value = i->value,
					   .threads = threads };
	strcpy(i->planned.id, id);
	assert_int_equal(series_open(s, &i->planned, NULL), 0);
	s->samples.time = calloc(SAMPLES, sizeof(*s->samples.time));
	s->samples.skews = calloc(SAMPLES, sizeof(*s->samples.skews));
	s->samples.noisy = calloc(SAMPLES, sizeof(*s->samples.noisy));
	s->samples.batch = calloc(SAMPLES, sizeof(*s->samples.batch));
	s->samples.n = s->samples.batches = SAMPLES;
	s->samples.allocations = SAMPLES;
	s->duration = 1;
	s->evidence.noise.wall = SAMPLES;
	for (unsigned b = 0; b < SAMPLES; b++) {
		s->samples.time[b] = time * (0.955 + 0.01 * (b * 7 % SAMPLES));
		s->samples.batch[b] = (struct batch){ .first = b,
						      .samples = 1,
						      .allocation = b,
						      .round = b,
						      .estimate = s->samples.time[b],
						      .clean = s->samples.time[b] };
	}
}

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
		json_array_foreach(json_object_get(line, "notes"), j, doubt) noted |=
			strstr(json_string_value(doubt), "begin 0.02 s apart, 2 % of a sample") !=
			NULL;
		assert_int_equal(noted, table[i].noted);
		json_decref(line);
		series_close(&s);
	}
}

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

/*
 * A ratio relates a trial to the one of its group that differs in the compared parameter and in
 * nothing else.
 */
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

	/* dense over padded, and over its namesake of the other variant */
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

/* A metric that is reported, with a scatter of its own; and a rate, the inverse of the time. */
enum { COST, RATE };
static double three(const struct trial *t)
{
	(void)t;
	return 3;
}

static const struct metric ratio_metrics[] = {
	[COST] = { "cost", "1", "", LOWER_IS_BETTER, NULL },
	[RATE] = { "rate", "1/s", "", HIGHER_IS_BETTER, three },
};
static const struct ratio metric_rows[] = {
	{ "slowdown", "in cost", P_VARIANT, "racy", "atomic", "cost" },
	{ "slowdown", "in rate", P_VARIANT, "racy", "atomic", "rate" },
	{ "slowdown", "in time", P_VARIANT, "racy", "atomic", NULL },
};

static void invent_cost(struct series *s, struct invention *i, struct benchmark *b, double cost)
{
	b->metrics = ratio_metrics;
	b->n_metrics = sizeof(ratio_metrics) / sizeof(*ratio_metrics);
	b->ratios = metric_rows;
	b->n_ratios = sizeof(metric_rows) / sizeof(*metric_rows);
	i->planned.trial.benchmark = b;
	free(s->samples.value);
	s->samples.value = calloc(2, sizeof(*s->samples.value));
	s->samples.value[COST] = calloc(s->samples.n, sizeof(**s->samples.value));
	for (size_t n = 0; n < s->samples.n; n++)
		s->samples.value[COST][n] = cost * (0.955 + 0.01 * (double)(n * 3 % s->samples.n));
}

static void test_a_ratio_of_another_number(void **state)
{
	static const char *const metrics_of[] = { "cost", "rate", "time" };
	/* the rate of `to` over that of `of`: more than 1 speaks for `to`, as ever */
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

/* Three over times from 1.91 to 2.09 s: the longest time is the lower bound. */
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

/* Whichever of the two is wrong. */
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

/* Times that rise from allocation to allocation are a note, and the trial is ok. */
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
	/* of 10: the median of the last three over that of the first three, 1.08 / 1.01 */
	assert_string_equal(json_string_value(json_array_get(json_object_get(line, "notes"), 0)),
			    "changed while it was measured: +6.9 % from the first third of its "
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

/*
 * The ratio of two trials whose allocations happen to be narrow is as wide as 0.8 of what the
 * ratios of their group are in the median.
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

/*
 * 12 allocations of `each` samples in one batch, of which those take 1.5 times as long that
 * `is_slow` says.
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

/* One pair has one time, as other trials have; of three pairs some are farther apart. */
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

/* Two modes are a status, a change in time is a note: each says where, and both values. */
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

/* What was known when it was planned is told with its result. */
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
		       "together"));
	json_decref(line);
	series_close(&s);
}

/*
 * Noisy outranks unconverged: a wide interval can be seen in the numbers, a disturbance only in the
 * status. The reasons of both are recorded.
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

/* Time that the host stole is in no sample: much of it makes a trial noisy, little does not. */
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

/* Samples of a batch that is not complete are left out; all others stay. */
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
 * Two batches in each allocation, of three samples. Two of these are noisy and take twice as long,
 * so that the median of a batch is that of its noise; in batch 7 all are noisy, in 6 none.
 * Allocation a takes 1 + a / 100, its second batch 1 % more. Of two batches one counts events.
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
 * Cycles, batches, and with them what readers derive, are those of the samples of the time. A
 * metric that is the same in all of them is one number, though a batch has no such sample.
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
		/* an allocation without an undisturbed sample makes all of them count */
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

/* What counting costs, too: with every other batch counted, one of them has no clean sample. */
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

/* ---- the status ---- */

/* Checks the status of a made-up trial, and that its first reason contains `reason`. */
static void expect_end(struct series *s, enum status status, const char *reason)
{
	enum status found;
	json_t *line = summary(s, s, 1, 1.5, &found);
	const json_t *reasons = json_object_get(line, "reasons");
	const char *said = json_string_value(json_array_get(reasons, 0));

	assert_int_equal(found, status);
	assert_int_equal(!said, !reason);
	assert_true(!said || strstr(said, reason));
	json_decref(line);
}

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

/* A wide interval has no half to be told: its ends, as factors. */
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

/* A quota below its threads, and what changed, follow the reason of a trial that was begun. */
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

/* ---- placement of pages ---- */

/* A made-up trial of two threads on node 0 of a machine with two, whose placement was read back. */
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

/* Checks that the first note contains `part`; NULL: that there are no notes. */
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
	expect_end(&h.series, STATUS_MISPLACED, "11 of 10000 pages were not where");
	h.series.evidence.moved = strdup("numa_balancing is 1");
	expect_end(&h.series, STATUS_MISPLACED, "asked to be after its samples: numa_balancing");
	h.machine->policy.kind = MEMORY_POLICY_STEERED;
	expect_end(&h.series, STATUS_MISPLACED, "lift it with numactl --localalloc");
	leave(&h);
}

/* Numbers of pages that were not read are null. */
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
	expect_note(&h, "was counted by node, and not read page by page: move_pages");
	before->how = PLACEMENT_UNVERIFIED;
	before->huge_unknown = true;
	expect_note(&h, "is unverified: move_pages");
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
	expect_note(&h, "of 4194304 bytes asked for on transparent huge pages, 2097152 are");
	before->huge_unknown = true; /* huge pages were not counted */
	expect_note(&h, NULL);
	before->huge_unknown = false;
	before->huge = before->thp;
	expect_note(&h, NULL);
	leave(&h);
}

/* Only for nodes with threads of the trial, and not if a parameter sets the node of its memory. */
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
		cmocka_unit_test(test_a_skew_that_tells_is_noted),
		cmocka_unit_test(test_ratios_find_their_trial),
		cmocka_unit_test(test_a_ratio_of_another_number),
		cmocka_unit_test(test_a_rate_has_its_bounds_in_their_order),
		cmocka_unit_test(test_no_ratio_of_a_wrong_answer),
		cmocka_unit_test(test_a_ratio_without_a_common_round),
		cmocka_unit_test(test_no_ratio_without_a_time),
		cmocka_unit_test(test_a_trend_is_a_note),
		cmocka_unit_test(test_a_ratio_is_not_narrower_than_those_of_its_group),
		cmocka_unit_test(test_rarely_together_is_a_note),
		cmocka_unit_test(test_noise_set_aside_comes_back_nowhere),
		cmocka_unit_test(test_what_counting_costs_is_told_without_noise),
		cmocka_unit_test(test_both_modes_are_told),
		cmocka_unit_test(test_one_pair_may_have_two_modes),
		cmocka_unit_test(test_notes_and_kinds_of_the_plan_are_told),
		cmocka_unit_test(test_never_together_is_said),
		cmocka_unit_test(test_noise_is_graver_than_a_wide_interval),
		cmocka_unit_test(test_stolen_time_is_noise),
		cmocka_unit_test(test_a_cut_batch_is_left_out),
		cmocka_unit_test(test_what_counting_costs_is_a_note),
		cmocka_unit_test(test_the_end_is_told_with_its_cause),
		cmocka_unit_test(test_a_wide_interval_is_told_by_its_ends),
		cmocka_unit_test(test_what_held_it_up_is_a_reason),
		cmocka_unit_test(test_the_gravest_is_the_status),
		cmocka_unit_test(test_pages_astray_are_a_reason),
		cmocka_unit_test(test_pages_that_were_not_read_are_a_note),
		cmocka_unit_test(test_huge_pages_that_were_not_had_are_a_note),
		cmocka_unit_test(test_a_node_without_first_touch_is_a_note),
	};

	return cmocka_run_group_tests(tests, tree_make, tree_remove);
}
