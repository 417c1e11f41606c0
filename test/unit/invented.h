/* SPDX-License-Identifier: Apache-2.0 */
/* Made-up trials, for tests of their summary: samples and evidence. */
#ifndef LOCUS_INVENTED_H
#define LOCUS_INVENTED_H

#include <stdlib.h>
#include <string.h>

#include "harness/judge/summary.h"

static const struct role by_units[] = { { "worker", NULL, BY_COUNT } };

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

static inline void invent(struct series *s, struct invention *i, const char *id, unsigned variant,
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

/* A metric that is reported, with its own scatter; and a rate, the inverse of the time. */
enum { COST, RATE };
static inline double three(const struct trial *t)
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

static inline void invent_cost(struct series *s, struct invention *i, struct benchmark *b,
			       double cost)
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

/* Checks the status of a made-up trial, and that its first reason contains `reason`. */
static inline void expect_end(struct series *s, enum status status, const char *reason)
{
	enum status found;
	json_t *line = summary(s, s, 1, 1.5, &found);
	const json_t *reasons = json_object_get(line, "reasons");
	const char *said = json_string_value(json_array_get(reasons, 0));

	assert_int_equal(found, status);
	assert_int_equal(!said, !reason);
	assert_true(!said || !reason || strstr(said, reason));
	json_decref(line);
}

#endif
