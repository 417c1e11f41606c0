/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/record/lean.h"

static bool says_nothing(const json_t *value)
{
	return json_is_null(value) || (json_is_array(value) && !json_array_size(value)) ||
	       (json_is_object(value) && !json_object_size(value));
}

/* Seven digits are more than any clock gives; what is whole needs no point. */
static json_t *lean_real(double x, bool cut)
{
	char text[32];

	if (x == floor(x) && fabs(x) < 1e9)
		return json_integer((json_int_t)x);
	if (!cut)
		return json_real(x);
	snprintf(text, sizeof(text), "%.6e", x);
	return json_real(strtod(text, NULL));
}

static json_t *lean_value(const json_t *of, bool cut);

static json_t *lean_list(const json_t *list, bool cut)
{
	json_t *copy = json_array();
	const json_t *value;
	size_t i;

	json_array_foreach(list, i, value) json_array_append_new(copy, lean_value(value, cut));
	return copy;
}

/* Its numbers are cut, or those in `batches` alone. */
static json_t *lean_value(const json_t *of, bool cut)
{
	json_t *copy, *value;
	const char *key;

	if (json_is_array(of))
		return lean_list(of, cut);
	if (json_is_real(of))
		return lean_real(json_real_value(of), cut);
	if (!json_is_object(of))
		return json_copy((json_t *)of);
	copy = json_object();
	json_object_foreach((json_t *)of, key, value)
	{
		/* what was asked for is there as it was asked for */
		json_t *own = !strcmp(key, "parameters")
				      ? json_incref(value)
				      : lean_value(value, cut || !strcmp(key, "batches"));

		if (says_nothing(own))
			json_decref(own);
		else
			json_object_set_new(copy, key, own);
	}
	return copy;
}

json_t *lean(const json_t *line)
{
	return lean_value(line, true);
}

json_t *lean_trial(const json_t *line)
{
	json_t *copy = lean_value(line, false), *metrics = json_array(), *metric;
	size_t i;

	json_array_foreach(json_object_get(copy, "metrics"), i, metric)
	{
		json_object_del(metric, "unit");
		json_object_del(metric, "better");
		if (json_object_get(metric, "value"))
			json_array_append(metrics, metric);
	}
	if (json_array_size(metrics))
		json_object_set(copy, "metrics", metrics);
	else
		json_object_del(copy, "metrics");
	json_decref(metrics);
	return copy;
}
