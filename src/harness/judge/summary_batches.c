/* SPDX-License-Identifier: Apache-2.0 */
#include "harness/judge/summary_batches.h"

#include <math.h>

#include "harness/record/json.h"
#include "harness/sample/estimates.h"
#include "harness/sample/metrics.h"

/*
 * The medians of the batches, of the samples that count for the trial's value; one number if all
 * that have a time have the same, unless they are times. `value`: by sample, NULL: the time. NULL:
 * no batch has one.
 */
static json_t *column_json(const struct series *s, const double *value)
{
	const bool aside = series_sets_noise_aside(s);
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

static json_t *metrics_json(const struct series *s)
{
	const struct benchmark *b = s->planned->trial.benchmark;
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
static json_t *allocations_json(const struct series *s)
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
static json_t *rounds_json(const struct series *s)
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
static json_t *fresh_json(const struct series *s)
{
	return s->fresh < s->allocations ? json_integer(s->fresh) : json_null();
}

json_t *batches_json(const struct series *s)
{
	if (!s->batches)
		return json_null();
	return json_pack("{s:o, s:o, s:o, s:o}", "allocations", allocations_json(s), "fresh",
			 fresh_json(s), "round", rounds_json(s), "metrics", metrics_json(s));
}
