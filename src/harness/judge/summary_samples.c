/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/record/json.h"
#include "harness/judge/samples_line.h"
#include "harness/sample/estimates.h"
#include "base/quantity.h"
#include "base/statistics.h"
#include "harness/judge/summary_noise.h"
#include "harness/judge/summary_samples.h"

/* A sample shorter than so many readings of the clock gets a note: they are part of the result. */
#define READINGS 1000

/* Threads that begin further apart than this share of a sample get a note. */
#define SKEWED 0.01

static json_t *mode_json(const double *sorted, size_t n, size_t of)
{
	return json_pack("{s:o, s:o}", "time", record_number(statistics_quantile(sorted, n, 0.5)),
			 "share", record_number((double)n / (double)of));
}

/* Both modes of sorted times, of which the lower one has `low`. */
static json_t *modes_json(const double *sorted, size_t low, size_t n)
{
	return json_pack("[o, o]", mode_json(sorted, low, n), mode_json(sorted + low, n - low, n));
}

static void note_modes(const struct series *s, const double *sorted, size_t low, size_t n,
		       struct verdict *v)
{
	char unit[64], lower[64], upper[64];

	snprintf(unit, sizeof(unit), "s/%s", s->planned->trial.benchmark->unit.name);
	verdict_add(
		v, STATUS_BIMODAL, "two modes: %s (%.0f %%) and %s (%.0f %%)",
		quantity_show(statistics_quantile(sorted, low, 0.5), unit, lower, sizeof(lower)),
		100 * (double)low / (double)n,
		quantity_show(statistics_quantile(sorted + low, n - low, 0.5), unit, upper,
			      sizeof(upper)),
		100 * (double)(n - low) / (double)n);
}

/* Several pairs have several times, which are no modes. */
static bool levels_differ(const struct series *s)
{
	return s->pairs && pair_count(s->pairs) > 1;
}

json_t *samples_json(const struct series *s, struct verdict *v)
{
	double *sorted = calloc(s->samples + 1, sizeof(*sorted));
	size_t n = 0, clean = 0, low;
	json_t *quantiles, *object, *modes = NULL;

	if (!s->samples || !sorted) {
		free(sorted);
		return json_null();
	}
	for (size_t i = 0; i < s->samples; i++)
		if (isfinite(s->time[i]) && !s->noisy[i])
			sorted[clean++] = s->time[i];
	statistics_sort(sorted, clean);
	/* noisy samples would be a mode, and are known already */
	low = levels_differ(s) ? 0 : statistics_modes(sorted, clean);
	if (low) {
		note_modes(s, sorted, low, clean, v);
		modes = modes_json(sorted, low, clean);
	}
	for (size_t i = 0; i < s->samples; i++)
		if (isfinite(s->time[i]))
			sorted[n++] = s->time[i];
	if (!n) {
		free(sorted);
		return json_null();
	}
	quantiles = samples_quantiles(sorted, n);
	object = json_pack(
		"{s:i, s:i, s:i, s:o, s:o, s:o, s:o, s:o, s:o, s:o*}", "n", (int)s->samples,
		"batches", (int)s->batches, "noisy", (int)noise_samples(s), "duration",
		record_number(s->duration), "units", samples_units(s), "parts",
		record_count(s->tally.done * tally_amount(&s->tally)), "quantiles", quantiles,
		"mean", record_number(statistics_mean(sorted, n)), "deviation",
		record_number(statistics_deviation(sorted, n)), "modes", modes);
	free(sorted);
	return object;
}

double samples_skew(const struct series *s)
{
	double *sorted = calloc(s->samples + 1, sizeof(*sorted)), skew = NAN;

	if (sorted && s->samples && s->planned->trial.threads > 1 && !s->pairs) {
		memcpy(sorted, s->skews, s->samples * sizeof(*sorted));
		statistics_sort(sorted, s->samples);
		skew = statistics_quantile(sorted, s->samples, 0.5);
	}
	free(sorted);
	return skew;
}

void samples_note_doubts(const struct series *s, struct verdict *v)
{
	const struct trial *t = &s->planned->trial;
	const double skew = samples_skew(s);
	size_t timeless = 0;

	for (size_t i = 0; i < s->samples; i++)
		timeless += !isfinite(s->time[i]);
	if (timeless && timeless < s->samples)
		verdict_add(v, STATUS_OK,
			    "%zu of its %zu samples have no time, and are left out: in them "
			    "workers were not at work together, or did nothing",
			    timeless, s->samples);
	if (t->benchmark->protocol.scored != TOGETHER && !t->oversubscribed &&
	    skew > SKEWED * s->duration)
		verdict_add(v, STATUS_OK,
			    "its threads begin %.2g s apart, %.2g %% of a sample, which is part of "
			    "the result: give a sample more work",
			    skew, 100 * skew / s->duration);
	if (s->duration < READINGS * s->overhead)
		verdict_add(v, STATUS_OK,
			    "its samples last only %.0f times as long as reading the clock, which "
			    "is part of the result",
			    s->duration / s->overhead);
}

double samples_cycle(const struct series *s, double time)
{
	const bool aside = series_sets_noise_aside(s);
	double *cycles = calloc(s->batches + 1, sizeof(*cycles)), own = NAN;
	unsigned timed = 0, known = 0;

	for (unsigned i = 0; cycles && i < s->batches; i++) {
		const double one = estimates_batch(s, i, NULL, aside);

		cycles[i] = s->batch[i].cycle > 0 ? one / s->batch[i].cycle : NAN;
		timed += isfinite(one);
		known += isfinite(cycles[i]);
	}
	if (known && 2 * known >= timed && !s->planned->trial.oversubscribed)
		own = series_estimate(s, cycles).value;
	free(cycles);
	return time / own;
}
