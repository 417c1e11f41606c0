/* SPDX-License-Identifier: Apache-2.0 */
/* Samples by batch: lines of their own, and the trial line's `batches`. */
#include <math.h>
#include <stdlib.h>

#include "base/statistics.h"
#include "harness/judge/summary.h"
#include "harness/record/record.h"
#include "harness/sample/counts.h"
#include "harness/sample/workers.h"

/*
 * The number of raw samples that a trial may put into the record; after them, each batch has
 * quantiles.
 */
#define MOST_RAW_SAMPLES 10000

static const double sketched[] = { 0, 0.01, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 1 };

json_t *samples_quantiles(double *values, size_t n)
{
	json_t *list = json_array();

	statistics_sort(values, n);
	for (size_t i = 0; n && i < sizeof(sketched) / sizeof(*sketched); i++)
		json_array_append_new(list,
				      record_number(statistics_quantile(values, n, sketched[i])));
	return list;
}

json_t *samples_units(const struct series *s)
{
	return roles_until(s->planned, 0) == BY_DEADLINE ? json_null()
							 : json_integer((json_int_t)s->did);
}

static json_t *list_of(const double *values, size_t n)
{
	json_t *list = json_array();

	for (size_t i = 0; i < n; i++)
		json_array_append_new(list, record_number(values[i]));
	return list;
}

static json_t *noisy_json(const struct samples *s, size_t first, size_t n, unsigned cause)
{
	json_t *noisy = json_array();

	for (size_t i = 0; i < n; i++)
		if (s->noisy[first + i] & cause)
			json_array_append_new(noisy, json_integer((json_int_t)i));
	return noisy;
}

/* Quantiles of all samples of the batches that share a line. */
static json_t *sketch_json(const struct samples *s, size_t first, size_t samples)
{
	double *sorted = calloc(samples + 1, sizeof(*sorted));
	json_t *sketch;
	size_t n = 0;

	for (size_t k = 0; sorted && k < samples; k++)
		if (isfinite(s->time[first + k]))
			sorted[n++] = s->time[first + k];
	sketch = json_pack("{s:i}", "n", (int)n);
	if (n) /* otherwise no two workers ever worked at the same time */
		json_object_set_new(sketch, "quantiles", samples_quantiles(sorted, n));
	free(sorted);
	return sketch;
}

/* Samples of pairs are many and short; the trial line has them by level and pair. */
static bool is_raw(const struct series *s, const struct batch *b)
{
	return !s->pairs && b->first + b->samples <= MOST_RAW_SAMPLES;
}

static bool is_counted(const struct tally *t, unsigned batch)
{
	json_t *counters = counts_batch_json(t, batch);
	const bool counted = json_object_size(counters) > 0;

	json_decref(counters);
	return counted;
}

static json_t *units_json(const struct series *s, const struct batch *b)
{
	return roles_until(s->planned, 0) == BY_DEADLINE ? json_null()
							 : json_integer((json_int_t)b->units);
}

/* Columns by batch, for a line that has several. */
static void put_columns(const struct batch *b, unsigned n, bool raw, json_t *line)
{
	json_t *samples = json_array(), *at = json_array(), *cycle = json_array();

	for (unsigned i = 0; i < n; i++) {
		json_array_append_new(samples, json_integer((json_int_t)b[i].samples));
		json_array_append_new(at, record_number(b[i].at));
		json_array_append_new(cycle,
				      b[i].cycle > 0 ? record_number(b[i].cycle) : json_null());
	}
	json_object_set_new(line, "n", samples);
	/* a sketch is one for all batches, and keeps the first one's `at` and `cycle` */
	if (raw) {
		json_object_set(line, "at", at);
		json_object_set(line, "cycle", cycle);
	}
	json_decref(at);
	json_decref(cycle);
}

bool samples_join(const struct series *s, unsigned first, unsigned batch)
{
	const struct batch *a = &s->samples.batch[first], *b = &s->samples.batch[batch];

	return is_raw(s, a) == is_raw(s, b) && a->allocation == b->allocation &&
	       (a->units == b->units || roles_until(s->planned, 0) == BY_DEADLINE) &&
	       !is_counted(&s->tally, first) && !is_counted(&s->tally, batch);
}

json_t *samples_line(const struct series *s, unsigned first, unsigned n)
{
	const struct batch *b = &s->samples.batch[first], *last = &b[n - 1];
	const size_t samples = last->first + last->samples - b->first;
	const bool raw = is_raw(s, b);
	json_t *line = json_pack(
		"{s:s, s:i, s:i, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "trial", s->planned->id,
		"allocation", (int)b->allocation, "batch", (int)first, "at", record_number(b->at),
		"units", units_json(s, b), "times",
		raw ? list_of(s->samples.time + b->first, samples) : json_null(), "noisy",
		raw ? noisy_json(&s->samples, b->first, samples, SAMPLE_DISTURBED) : json_array(),
		"crowded",
		raw ? noisy_json(&s->samples, b->first, samples, SAMPLE_CROWDED) : json_array(),
		"cycle", b->cycle > 0 ? record_number(b->cycle) : json_null(), "counters",
		counts_batch_json(&s->tally, first));

	if (!raw)
		json_object_set_new(line, "sketch", sketch_json(&s->samples, b->first, samples));
	if (n > 1)
		put_columns(b, n, raw, line);
	return line;
}

/* --- `batches` of the trial line --- */

/*
 * The median of each batch, over the samples that count for the trial's value. One number if all
 * batches with a time share it, unless it is a time. `value`: by sample, NULL: the time. Returns
 * NULL if no batch has one.
 */
static json_t *column_json(const struct samples *s, const double *value)
{
	const unsigned aside = samples_aside(s);
	json_t *list = json_array();
	double first = NAN;
	bool same = value;

	for (unsigned i = 0; i < s->batches; i++) {
		const double one = estimates_batch(s, i, value, aside);

		first = isfinite(first) ? first : one;
		same &= isfinite(one) ? one == first
				      : !isfinite(estimates_batch(s, i, NULL, aside));
		json_array_append_new(list, record_number(one));
	}
	if (isfinite(first) && !same)
		return list;
	json_decref(list);
	return isfinite(first) ? record_number(first) : NULL;
}

static json_t *metrics_json(const struct samples *s, const struct benchmark *b)
{
	json_t *object = json_object(), *column = column_json(s, NULL);

	if (column)
		json_object_set_new(object, "time", column);
	for (unsigned m = 0; m < b->n_metrics; m++) {
		column = s->value[m] ? column_json(s, s->value[m]) : NULL;
		if (column)
			json_object_set_new(object, b->metrics[m].name, column);
	}
	return object;
}

/* How many batches each allocation has. */
static json_t *allocations_json(const struct samples *s)
{
	json_t *list = json_array();

	for (unsigned a = 0, i = 0; i < s->batches; a++) {
		const unsigned first = i;

		while (i < s->batches && s->batch[i].allocation == a)
			i++;
		json_array_append_new(list, json_integer(i - first));
	}
	return list;
}

/* The group's round of each batch; null if these are 0, 1, 2, ... */
static json_t *rounds_json(const struct samples *s)
{
	json_t *list = json_array();
	bool plain = true;

	for (unsigned i = 0; i < s->batches; i++) {
		plain &= s->batch[i].round == i;
		json_array_append_new(list, json_integer(s->batch[i].round));
	}
	if (!plain)
		return list;
	json_decref(list);
	return json_null();
}

/* Null if no allocation had a page frame of an earlier one. */
static json_t *fresh_json(const struct samples *s)
{
	return s->fresh < s->allocations ? json_integer(s->fresh) : json_null();
}

json_t *batches_json(const struct samples *s, const struct benchmark *b)
{
	if (!s->batches)
		return json_null();
	return json_pack("{s:o, s:o, s:o, s:o}", "allocations", allocations_json(s), "fresh",
			 fresh_json(s), "round", rounds_json(s), "metrics", metrics_json(s, b));
}
