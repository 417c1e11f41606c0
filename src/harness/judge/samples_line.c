/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>

#include "harness/sample/counts.h"
#include "harness/record/json.h"
#include "harness/sample/roles.h"
#include "harness/judge/samples_line.h"
#include "base/statistics.h"

/* Raw samples of a trial that go into the record; beyond that, quantiles of each batch. */
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
	return roles_until(s) == BY_DEADLINE ? json_null() : json_integer((json_int_t)s->did);
}

static json_t *list_of(const double *values, size_t n)
{
	json_t *list = json_array();

	for (size_t i = 0; i < n; i++)
		json_array_append_new(list, record_number(values[i]));
	return list;
}

static json_t *noisy_json(const struct series *s, size_t first, size_t n)
{
	json_t *noisy = json_array();

	for (size_t i = 0; i < n; i++)
		if (s->noisy[first + i])
			json_array_append_new(noisy, json_integer((json_int_t)i));
	return noisy;
}

/* Of all samples of batches that share a line. */
static json_t *sketch_json(const struct series *s, size_t first, size_t samples)
{
	double *sorted = calloc(samples + 1, sizeof(*sorted));
	json_t *sketch;
	size_t n = 0;

	for (size_t k = 0; sorted && k < samples; k++)
		if (isfinite(s->time[first + k]))
			sorted[n++] = s->time[first + k];
	sketch = json_pack("{s:i}", "n", (int)n);
	if (n) /* else no two workers were ever at work together */
		json_object_set_new(sketch, "quantiles", samples_quantiles(sorted, n));
	free(sorted);
	return sketch;
}

/* Samples of pairs are many and short; the trial line has them by level and pair. */
static bool is_raw(const struct series *s, const struct batch *b)
{
	return !s->pairs && b->first + b->samples <= MOST_RAW_SAMPLES;
}

static bool is_counted(const struct series *s, unsigned batch)
{
	json_t *counters = counts_batch_json(s, batch);
	const bool counted = json_object_size(counters) > 0;

	json_decref(counters);
	return counted;
}

static json_t *units_json(const struct series *s, const struct batch *b)
{
	return roles_until(s) == BY_DEADLINE ? json_null() : json_integer((json_int_t)b->units);
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
	const struct batch *a = &s->batch[first], *b = &s->batch[batch];

	return is_raw(s, a) == is_raw(s, b) && a->allocation == b->allocation &&
	       (a->units == b->units || roles_until(s) == BY_DEADLINE) && !is_counted(s, first) &&
	       !is_counted(s, batch);
}

json_t *samples_line(const struct series *s, unsigned first, unsigned n)
{
	const struct batch *b = &s->batch[first], *last = &b[n - 1];
	const size_t samples = last->first + last->samples - b->first;
	const bool raw = is_raw(s, b);
	json_t *line = json_pack("{s:s, s:i, s:i, s:o, s:o, s:o, s:o, s:o, s:o}", "trial",
				 s->planned->id, "allocation", (int)b->allocation, "batch",
				 (int)first, "at", record_number(b->at), "units", units_json(s, b),
				 "times", raw ? list_of(s->time + b->first, samples) : json_null(),
				 "noisy", raw ? noisy_json(s, b->first, samples) : json_array(),
				 "cycle", b->cycle > 0 ? record_number(b->cycle) : json_null(),
				 "counters", counts_batch_json(s, first));

	if (!raw)
		json_object_set_new(line, "sketch", sketch_json(s, b->first, samples));
	if (n > 1)
		put_columns(b, n, raw, line);
	return line;
}
