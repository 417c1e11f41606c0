/* SPDX-License-Identifier: Apache-2.0 */
#include "harness/judge/summary_batches.h"

#include <math.h>

#include "base/statistics.h"
#include "harness/record/json.h"
#include "harness/sample/metrics.h"

/* The median of a metric's values in each batch. */
static json_t *medians_json(const struct series *s, const double *value)
{
	json_t *list = json_array();

	for (unsigned i = 0; i < s->batches; i++) {
		const struct batch *b = &s->batch[i];

		json_array_append_new(list, record_number(statistics_quantile_known(
						    value + b->first, NULL, b->samples, 0.5)));
	}
	return list;
}

static json_t *metrics_json(const struct series *s)
{
	const struct benchmark *b = s->planned->trial.benchmark;
	json_t *object = json_object(), *time = json_array();

	for (unsigned i = 0; i < s->batches; i++)
		json_array_append_new(time, record_number(s->batch[i].estimate));
	json_object_set_new(object, "time", time);
	for (unsigned m = 0; m < metric_count(b); m++)
		if (s->value[m])
			json_object_set_new(object, b->metrics[m].name,
					    medians_json(s, s->value[m]));
	return object;
}

/* Of the time, less the noisy samples; null where it is the same for all batches. */
static json_t *quiet_json(const struct series *s)
{
	json_t *list = json_array();
	bool same = true;

	for (unsigned i = 0; i < s->batches; i++) {
		const struct batch *b = &s->batch[i];

		same &= b->clean == b->estimate;
		json_array_append_new(list, record_number(b->clean));
	}
	if (!same)
		return list;
	json_decref(list);
	return json_null();
}

json_t *batches_json(const struct series *s)
{
	json_t *allocation, *round;

	if (!s->batches)
		return json_null();
	allocation = json_array();
	round = json_array();
	for (unsigned i = 0; i < s->batches; i++) {
		json_array_append_new(allocation, json_integer(s->batch[i].allocation));
		json_array_append_new(round, json_integer(s->batch[i].round));
	}
	return json_pack("{s:o, s:o, s:o, s:o}", "allocation", allocation, "round", round,
			 "metrics", metrics_json(s), "without_noise", quiet_json(s));
}
