/* SPDX-License-Identifier: Apache-2.0 */
/* Chooses which members of a line are written. */
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

/* The number of digits of a member, in an object whose numbers have `digits`. */
static int digits_of(const char *key, int digits)
{
	static const struct {
		const char *key;
		int digits;
	} own[] = { { "value", ALL }, /* results are compared */
		    { "batches", 5 }, /* more digits than batches agree in */
		    { "samples", 5 }, { "quantiles", 5 }, { "skew", 4 },
		    { "elapsed", 4 }, { "noise", 3 } }; /* the kernel counts in ticks */

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

	json_array_foreach(list, i, value)
		json_array_append_new(copy, lean_value(value, digits));
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
	json_object_foreach((json_t *)of, key, value) {
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

/* --- a trial line: members that follow from others, or from its benchmark's line --- */

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
	const char *how = json_string_value(json_object_get(placement, "how"));

	leave_out_zeros(placement, counts);
	if (how && !strcmp(how, "verified"))
		json_object_del(placement, "how");
	if (json_object_get(placement, "after"))
		lean_placement(json_object_get(placement, "after"));
}

/* If only one role has workers, its numbers follow from the trial's. */
static void lean_roles(json_t *trial)
{
	const json_t *role;
	unsigned at_work = 0;
	size_t i;

	json_array_foreach(json_object_get(trial, "roles"), i, role)
		at_work += json_integer_value(json_object_get(role, "workers")) > 0;
	if (at_work < 2)
		json_object_del(trial, "roles");
}

/* A metric with the same value in all batches is left out: the value says it. */
static void lean_columns(json_t *columns)
{
	const char *name;
	json_t *column;
	void *next;

	json_object_foreach_safe(columns, next, name, column) {
		if (json_is_number(column))
			json_object_del(columns, name);
	}
}

/* Whether an interval, or a range, is a single number. */
static bool has_no_width(const json_t *metric)
{
	const json_t *ci = json_object_get(metric, "ci"), *range = json_object_get(metric, "range");

	return ci ? json_equal(json_array_get(ci, 0), json_array_get(ci, 1))
		  : range && json_equal(json_object_get(range, "low"),
					json_object_get(range, "high"));
}

/*
 * Metrics with a value, by name. A rate's interval follows from the time's; if all batches had the
 * same value, the interval is the value.
 */
static void lean_metrics(json_t *trial, const json_t *columns)
{
	static const char *const told[] = { "name", "unit", "better", "rate", NULL },
				 *const interval[] = { "ci", "range", NULL },
				 *const of_time[] = { "ci", "range", "with_noise", NULL };
	json_t *metrics = json_object(), *metric;
	size_t i;

	json_array_foreach(json_object_get(trial, "metrics"), i, metric) {
		const char *name = json_string_value(json_object_get(metric, "name"));

		if (!json_object_get(metric, "value"))
			continue;
		if (json_is_true(json_object_get(metric, "rate")))
			leave_out(metric, of_time);
		else if (has_no_width(metric) && !json_object_get(columns, name))
			leave_out(metric, interval);
		json_object_set(metrics, name, metric);
		leave_out(metric, told);
	}
	if (json_object_size(metrics))
		json_object_set(trial, "metrics", metrics);
	else
		json_object_del(trial, "metrics");
	json_decref(metrics);
}

/* The shortest time of a list; INFINITY if it has none. */
static double least_of(const json_t *times)
{
	double least = INFINITY;
	const json_t *time;
	size_t i;

	json_array_foreach(times, i, time)
		if (json_number_value(time) > 0)
			least = fmin(least, json_number_value(time));
	return least;
}

/* A whole multiple of `scale`, or null. */
static json_t *scaled(const json_t *time, double scale)
{
	return json_is_number(time) ? json_integer(llround(json_number_value(time) / scale))
				    : json_null();
}

static json_t *scaled_list(const json_t *times, double scale)
{
	json_t *list = json_array();
	const json_t *time;
	size_t i;

	json_array_foreach(times, i, time)
		json_array_append_new(list, scaled(time, scale));
	return list;
}

/*
 * Times of batches, quantiles and modes become whole multiples of `scale`, a power of ten with
 * which the shortest has five digits.
 */
static void lean_times(json_t *trial, json_t *columns)
{
	json_t *samples = json_object_get(trial, "samples"), *mode;
	const json_t *quantiles = json_object_get(samples, "quantiles"),
		     *times = json_object_get(columns, "time");
	const double least = fmin(least_of(quantiles), least_of(times)),
		     scale = pow(10, floor(log10(least)) - 4);
	size_t i;

	if (!isfinite(least))
		return;
	if (quantiles)
		json_object_set_new(samples, "quantiles", scaled_list(quantiles, scale));
	if (times)
		json_object_set_new(columns, "time", scaled_list(times, scale));
	json_array_foreach(json_object_get(samples, "modes"), i, mode)
		json_object_set_new(mode, "time", scaled(json_object_get(mode, "time"), scale));
	json_object_set_new(trial, "scale", json_real(scale));
}

/* Drops what the benchmark's line says about a ratio; `to` stays if it is a number of threads. */
static void lean_ratios(json_t *ratios)
{
	static const char *const told[] = { "name", "metric", "parameter", "of", NULL };
	json_t *ratio;
	size_t i;

	json_array_foreach(ratios, i, ratio) {
		const char *parameter = json_string_value(json_object_get(ratio, "parameter"));

		if (parameter && strcmp(parameter, "threads"))
			json_object_del(ratio, "to");
		leave_out(ratio, told);
	}
}

json_t *lean_trial(const json_t *line)
{
	static const char *const derived[] = { "cycles", NULL },
				 *const of_samples[] = { "batches", NULL },
				 *const of_noise[] = { "samples", NULL };
	json_t *copy = lean(line),
	       *columns = json_object_get(json_object_get(copy, "batches"), "metrics");

	leave_out(copy, derived);
	leave_out(json_object_get(copy, "samples"), of_samples);
	leave_out(json_object_get(copy, "noise"), of_noise);
	lean_identity(copy);
	lean_placement(json_object_get(copy, "placement"));
	lean_roles(copy);
	lean_columns(columns);
	lean_metrics(copy, columns);
	lean_times(copy, columns);
	lean_ratios(json_object_get(copy, "ratios"));
	return copy;
}

/* --- parts of a trial with their own lines --- */

/* Moves an object out of another, into a line of this type. */
static void take_part(json_t *lines, const char *type, const json_t *trial, json_t *from,
		      const char *key, const char *metric)
{
	json_t *part = json_object_get(from, key), *line;

	if (!part)
		return;
	line = json_pack("{s:s, s:O, s:O, s:s*}", "type", type, "run",
			 json_object_get(trial, "run"), "trial", json_object_get(trial, "id"),
			 "metric", metric);
	json_object_update(line, part);
	json_array_append_new(lines, line);
	json_object_del(from, key);
}

/* Each row becomes a line. */
static void take_rows(json_t *lines, json_t *trial)
{
	json_t *rows = json_object_get(trial, "rows"), *row;
	size_t i;

	json_array_foreach(rows, i, row) {
		json_t *line = json_pack("{s:s, s:O, s:O}", "type", "row", "run",
					 json_object_get(trial, "run"), "trial",
					 json_object_get(trial, "id"));

		json_object_update(line, row);
		json_array_append_new(lines, line);
	}
	json_object_del(trial, "rows");
}

json_t *lean_parts(json_t *trial)
{
	json_t *lines = json_array(), *metric;
	const char *name;

	take_part(lines, "matrix", trial, json_object_get(trial, "pairs"), "cells", NULL);
	take_rows(lines, trial);
	json_object_foreach(json_object_get(trial, "metrics"), name, metric)
		take_part(lines, "distribution", trial, metric, "distribution", name);
	return lines;
}
