/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "harness/record/lean.h"

static bool says_nothing(const json_t *value)
{
	return json_is_null(value) || (json_is_array(value) && !json_array_size(value)) ||
	       (json_is_object(value) && !json_object_size(value));
}

/* Significant digits: more than any clock gives. */
enum { ALL = 0, OF_NUMBERS = 7 };

/* A whole number becomes an integer, without a decimal point. */
static json_t *lean_real(double x, int digits)
{
	char text[32];

	if (x == floor(x) && fabs(x) < 1e9)
		return json_integer((json_int_t)x);
	if (digits == ALL)
		return json_real(x);
	snprintf(text, sizeof(text), "%.*e", digits - 1, x);
	return json_real(strtod(text, NULL));
}

/* How many digits a member has, in an object whose numbers have `digits`. */
static int digits_of(const char *key, int digits)
{
	static const struct {
		const char *key;
		int digits;
	} own[] = { { "value", ALL },	/* results are compared */
		    { "batches", 5 },	/* more than batches agree in */
		    { "samples", 5 }, { "quantiles", 5 }, { "skew", 4 }, { "elapsed", 4 },
		    { "noise", 3 } }; /* the kernel tells it in ticks */

	for (size_t i = 0; i < sizeof(own) / sizeof(*own); i++)
		if (!strcmp(key, own[i].key))
			return own[i].digits;
	return digits;
}

static json_t *lean_value(const json_t *of, int digits);

static json_t *lean_list(const json_t *list, int digits)
{
	json_t *copy = json_array();
	const json_t *value;
	size_t i;

	json_array_foreach(list, i, value) json_array_append_new(copy, lean_value(value, digits));
	return copy;
}

static json_t *lean_value(const json_t *of, int digits)
{
	json_t *copy, *value;
	const char *key;

	if (json_is_array(of))
		return lean_list(of, digits);
	if (json_is_real(of))
		return lean_real(json_real_value(of), digits);
	if (!json_is_object(of))
		return json_copy((json_t *)of);
	copy = json_object();
	json_object_foreach((json_t *)of, key, value)
	{
		/* parameters stay as they are: empty ones, and all digits */
		json_t *own = !strcmp(key, "parameters")
				      ? json_incref(value)
				      : lean_value(value, digits_of(key, digits));

		if (says_nothing(own))
			json_decref(own);
		else
			json_object_set_new(copy, key, own);
	}
	return copy;
}

json_t *lean(const json_t *line)
{
	return lean_value(line, OF_NUMBERS);
}

/* --- a trial line: what follows from the rest of it, or from its benchmark's line --- */

static void leave_out(json_t *object, const char *const *keys)
{
	for (; *keys; keys++)
		json_object_del(object, *keys);
}

static void leave_out_zeros(json_t *object, const char *const *keys)
{
	for (; *keys; keys++)
		if (json_is_number(json_object_get(object, *keys)) &&
		    json_number_value(json_object_get(object, *keys)) == 0)
			json_object_del(object, *keys);
}

/* The identity follows from other keys, unless it has the hash of a file's contents. */
static void lean_identity(json_t *trial)
{
	const char *identity = json_string_value(json_object_get(trial, "identity"));

	if (identity && !strstr(identity, "=" HASH_NAME ":"))
		json_object_del(trial, "identity");
}

static void lean_placement(json_t *placement)
{
	static const char *const counts[] = { "unmapped", "misplaced", "huge_bytes", NULL };

	leave_out_zeros(json_object_get(placement, "before"), counts);
	leave_out_zeros(json_object_get(placement, "after"), counts);
}

/* If only one role has workers, its numbers follow from the trial's. */
static void lean_roles(json_t *trial)
{
	const json_t *role;
	unsigned at_work = 0;
	size_t i;

	json_array_foreach(json_object_get(trial, "roles"), i, role) at_work +=
		json_integer_value(json_object_get(role, "workers")) > 0;
	if (at_work < 2)
		json_object_del(trial, "roles");
}

/* A metric that was the same in all batches is left out: that number is its value. */
static void lean_batches(json_t *batches)
{
	json_t *metrics = json_object_get(batches, "metrics"), *column;
	const char *name;
	void *next;

	json_object_foreach_safe(metrics, next, name, column)
	{
		if (json_is_number(column) && strcmp(name, "time"))
			json_object_del(metrics, name);
	}
}

/* Those with a value, by name. */
static void lean_metrics(json_t *trial)
{
	static const char *const told[] = { "name", "unit", "better", NULL };
	json_t *metrics = json_object(), *metric;
	size_t i;

	json_array_foreach(json_object_get(trial, "metrics"), i, metric)
	{
		if (!json_object_get(metric, "value"))
			continue;
		json_object_set(metrics, json_string_value(json_object_get(metric, "name")),
				metric);
		leave_out(metric, told);
	}
	if (json_object_size(metrics))
		json_object_set(trial, "metrics", metrics);
	else
		json_object_del(trial, "metrics");
	json_decref(metrics);
}

/* A ratio is one of times unless it says otherwise. */
static void lean_ratios(json_t *ratios)
{
	json_t *ratio;
	size_t i;

	json_array_foreach(ratios, i, ratio)
	{
		const char *metric = json_string_value(json_object_get(ratio, "metric"));

		if (metric && !strcmp(metric, "time"))
			json_object_del(ratio, "metric");
	}
}

json_t *lean_trial(const json_t *line)
{
	static const char *const derived[] = { "spread_within", "spread_between", "cycles", NULL },
				 *const of_samples[] = { "batches", NULL },
				 *const of_noise[] = { "samples", NULL };
	json_t *copy = lean(line);

	leave_out(copy, derived);
	leave_out(json_object_get(copy, "samples"), of_samples);
	leave_out(json_object_get(copy, "noise"), of_noise);
	lean_identity(copy);
	lean_placement(json_object_get(copy, "placement"));
	lean_roles(copy);
	lean_batches(json_object_get(copy, "batches"));
	lean_metrics(copy);
	lean_ratios(json_object_get(copy, "ratios"));
	return copy;
}
