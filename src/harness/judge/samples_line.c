/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "harness/sample/metrics.h"
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
	json_t *object = json_object();
	char key[16];

	statistics_sort(values, n);
	for (size_t i = 0; n && i < sizeof(sketched) / sizeof(*sketched); i++) {
		snprintf(key, sizeof(key), "%g", sketched[i]);
		json_object_set_new(object, key,
				    record_number(statistics_quantile(values, n, sketched[i])));
	}
	return object;
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

static bool known(const double *values, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (isfinite(values[i]))
			return true;
	return false;
}

static bool same(const double *values, size_t n)
{
	for (size_t i = 1; i < n; i++)
		if (values[i] != values[0])
			return false;
	return n > 0;
}

/* What a metric was in each sample; where it was the same in all, that number. */
static json_t *values_of(const double *values, size_t n)
{
	return same(values, n) ? record_number(values[0]) : list_of(values, n);
}

static void put_values(const struct series *s, const struct batch *b, json_t *values)
{
	const struct benchmark *benchmark = s->planned->trial.benchmark;

	for (unsigned m = 0; m < metric_count(benchmark); m++) {
		const double *value = s->value[m];

		if (value && known(value + b->first, b->samples))
			json_object_set_new(values, benchmark->metrics[m].name,
					    values_of(value + b->first, b->samples));
	}
}

json_t *samples_line(const struct series *s, double at)
{
	const struct batch *b = &s->batch[s->batches - 1];
	const double *time = s->time + b->first;
	const bool raw = s->samples <= MOST_RAW_SAMPLES;
	json_t *noisy = json_array(), *values = json_object(), *line;

	for (size_t i = 0; raw && i < b->samples; i++)
		if (s->noisy[b->first + i])
			json_array_append_new(noisy, json_integer((json_int_t)i));
	if (raw)
		put_values(s, b, values);
	line = json_pack("{s:s, s:i, s:i, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "trial",
			 s->planned->id, "allocation", (int)b->allocation, "batch",
			 (int)s->batches - 1, "at", record_number(at), "units", samples_units(s),
			 "times", raw ? list_of(time, b->samples) : json_null(), "noisy", noisy,
			 "cycle", b->cycle > 0 ? record_number(b->cycle) : json_null(), "values",
			 values, "counters", counts_batch_json(s));
	if (!raw) {
		double *sorted = calloc(b->samples + 1, sizeof(*sorted));
		size_t n = 0;

		for (size_t k = 0; sorted && k < b->samples; k++)
			if (isfinite(time[k]))
				sorted[n++] = time[k];
		json_object_set_new(line, "sketch",
				    json_pack("{s:i, s:o}", "n", (int)n, "quantiles",
					      samples_quantiles(sorted, n)));
		free(sorted);
	}
	return line;
}
