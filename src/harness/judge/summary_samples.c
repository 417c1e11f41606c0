/* SPDX-License-Identifier: Apache-2.0 */
/* All samples of a trial together: modes, doubts, skew, core cycles. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/record/record.h"
#include "harness/judge/summary.h"
#include "base/statistics.h"
#include "base/numbers.h"

/*
 * A sample shorter than so many readings of the clock gets a note: the readings are part of the
 * result.
 */
#define READINGS 1000

/* Threads that begin further apart than this share of a sample get a note. */
#define SKEWED 0.01

static const char *const kinds_of_modes[] = {
	[MODES_OF_SAMPLES] = "samples", [MODES_OF_ALLOCATIONS] = "allocations"
};

/* Several pairs at different distances have different times: these are not modes. */
static bool levels_differ(const struct series *s)
{
	return s->pairs && pair_count(s->pairs) > 1;
}

/* The modes of undisturbed samples: disturbed ones are already known, and would form a mode. */
static struct modes find_modes(const struct series *s)
{
	double *time = calloc(s->samples.n + 1, sizeof(*time));
	unsigned *allocation = calloc(s->samples.n + 1, sizeof(*allocation));
	struct modes m = { MODES_NONE };
	const unsigned aside = SAMPLE_DISTURBED | (samples_aside(&s->samples) & SAMPLE_CROWDED);
	unsigned batch = 0;
	size_t n = 0;

	for (size_t i = 0; time && allocation && i < s->samples.n; i++) {
		while (batch + 1 < s->samples.batches && s->samples.batch[batch + 1].first <= i)
			batch++;
		if (!isfinite(s->samples.time[i]) || s->samples.noisy[i] & aside)
			continue;
		time[n] = s->samples.time[i];
		allocation[n++] = s->samples.batch[batch].allocation;
	}
	if (n && !levels_differ(s))
		m = modes_find(time, allocation, n);
	free(time);
	free(allocation);
	return m;
}

static json_t *modes_json(const struct modes *m)
{
	json_t *list = m->of == MODES_NONE ? NULL : json_array();

	for (unsigned i = 0; list && i < 2; i++)
		json_array_append_new(list,
				      json_pack("{s:o, s:o}", "time", record_number(m->value[i]),
						"share", record_number(m->share[i])));
	return list;
}

/* "1.690 and 1.800 ns/load (62 % / 38 % of samples)" */
static void show_modes(const struct series *s, const struct modes *m, const char *of, char *text,
		       size_t size)
{
	char unit[64], lower[64], upper[64], *blank;

	snprintf(unit, sizeof(unit), "s/%s", s->planned->trial.benchmark->unit.name);
	quantity_show(m->value[0], unit, lower, sizeof(lower));
	quantity_show(m->value[1], unit, upper, sizeof(upper));
	blank = strchr(lower, ' ');
	if (!strcmp(blank, strchr(upper, ' '))) /* the unit, with its prefix, is printed once */
		*blank = 0;
	snprintf(text, size, "%s and %s (%.0f %% / %.0f %% of %s)", lower, upper, 100 * m->share[0],
		 100 * m->share[1], of);
}

static void note_modes(const struct series *s, const struct modes *m, struct verdict *v)
{
	const bool two = m->of != MODES_NONE;
	char text[256];

	if (!two && !m->after)
		return;
	show_modes(s, m, two ? kinds_of_modes[m->of] : "allocations", text, sizeof(text));
	if (two)
		verdict_add(v, STATUS_BIMODAL, "%s", text);
	else if (m->back)
		verdict_add(v, STATUS_OK,
			    "changed after allocation %u of %u, and back after %u: %s", m->after,
			    s->samples.allocations, m->back, text);
	else
		verdict_add(v, STATUS_OK, "changed after allocation %u of %u: %s", m->after,
			    s->samples.allocations, text);
}

json_t *samples_json(const struct series *s, struct verdict *v)
{
	double *sorted = calloc(s->samples.n + 1, sizeof(*sorted));
	const struct modes modes = find_modes(s);
	json_t *object = json_null();
	size_t n = 0;

	for (size_t i = 0; sorted && i < s->samples.n; i++)
		if (isfinite(s->samples.time[i]))
			sorted[n++] = s->samples.time[i];
	note_modes(s, &modes, v);
	if (n) {
		statistics_sort(sorted, n);
		object = json_pack(
			"{s:i, s:i, s:i, s:o, s:o, s:o, s:o, s:o, s:o, s:o*, s:s*, s:o*}", "n",
			(int)s->samples.n, "batches", (int)s->samples.batches, "noisy",
			(int)noise_samples(&s->samples), "duration", record_number(s->duration),
			"units", samples_units(s), "parts",
			record_count(s->tally.done * tally_amount(&s->tally)), "quantiles",
			samples_quantiles(sorted, n), "mean",
			record_number(statistics_mean(sorted, n)), "deviation",
			record_number(statistics_deviation(sorted, n)), "modes", modes_json(&modes),
			"modes_of", kinds_of_modes[modes.of], "crowded", noise_crowded_json(s));
	}
	free(sorted);
	return object;
}

double samples_skew(const struct series *s)
{
	double *sorted = calloc(s->samples.n + 1, sizeof(*sorted)), skew = NAN;

	if (sorted && s->samples.n && s->planned->trial.threads > 1 && !s->pairs) {
		memcpy(sorted, s->samples.skews, s->samples.n * sizeof(*sorted));
		statistics_sort(sorted, s->samples.n);
		skew = statistics_quantile(sorted, s->samples.n, 0.5);
	}
	free(sorted);
	return skew;
}

void samples_note_doubts(const struct series *s, struct verdict *v)
{
	const struct trial *t = &s->planned->trial;
	const double skew = samples_skew(s);
	size_t timeless = 0;

	for (size_t i = 0; i < s->samples.n; i++)
		timeless += !isfinite(s->samples.time[i]);
	if (timeless && timeless < s->samples.n)
		verdict_add(v, STATUS_OK,
			    "%zu of its %zu samples have no time and are left out: workers did not "
			    "work at the same time, or did nothing",
			    timeless, s->samples.n);
	if (t->benchmark->protocol.scored != TOGETHER && !t->oversubscribed &&
	    skew > SKEWED * s->duration)
		verdict_add(v, STATUS_OK,
			    "its threads begin %.2g s apart, %.2g %% of a sample, which is part of "
			    "the result: make samples longer",
			    skew, 100 * skew / s->duration);
	if (s->duration < READINGS * s->task.overhead)
		verdict_add(v, STATUS_OK,
			    "its samples last only %.0f times as long as reading the clock, which "
			    "is part of the result",
			    s->duration / s->task.overhead);
}

double samples_cycle(const struct series *s, double time)
{
	const unsigned aside = samples_aside(&s->samples);
	double *cycles = calloc(s->samples.batches + 1, sizeof(*cycles)), own = NAN;
	unsigned timed = 0, known = 0;

	for (unsigned i = 0; cycles && i < s->samples.batches; i++) {
		const double one = estimates_batch(&s->samples, i, NULL, aside);

		cycles[i] = s->samples.batch[i].cycle > 0 ? one / s->samples.batch[i].cycle : NAN;
		timed += isfinite(one);
		known += isfinite(cycles[i]);
	}
	if (known && 2 * known >= timed && !s->planned->trial.oversubscribed)
		own = samples_estimate(&s->samples, cycles).value;
	free(cycles);
	return time / own;
}
