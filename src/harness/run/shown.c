/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "harness/record/json.h"
#include "harness/run/shown.h"
#include "base/quantity.h"

/* % of the value: half of a wider interval says nothing of its other half. */
#define WIDE 50

static const char *unit_of(const json_t *metric)
{
	const char *unit = json_string_value(json_object_get(metric, "unit"));

	return unit ? unit : "1";
}

char *shown_value(const json_t *metric, char text[SHOWN_ROOM])
{
	return quantity_show(record_real(json_object_get(metric, "value")), unit_of(metric), text,
			     SHOWN_ROOM);
}

/* Digits after the point that make two in all, or all before it. */
static int two_digits(double x)
{
	return x ? (int)fmax(0, 1 - floor(log10(fabs(x)))) : 0;
}

static void show_ends(const json_t *metric, double low, double high, char *text, size_t size)
{
	const double scale =
		quantity_scale(record_real(json_object_get(metric, "value")), unit_of(metric));

	low /= scale;
	high /= scale;
	snprintf(text, size, "%.*f to %.*f", two_digits(low), low, two_digits(high), high);
}

char *shown_interval(const json_t *metric, char text[SHOWN_ROOM])
{
	const json_t *ci = json_object_get(metric, "ci"), *range = json_object_get(metric, "range");
	const bool few = !json_is_array(ci);
	const double value = record_real(json_object_get(metric, "value")),
		     low = record_real(few ? json_object_get(range, "low") : json_array_get(ci, 0)),
		     high = record_real(few ? json_object_get(range, "high")
					    : json_array_get(ci, 1)),
		     share = 100 * fmax(value - low, high - value) / fabs(value);
	char ends[SHOWN_ROOM - 2];

	snprintf(text, SHOWN_ROOM, "-");
	if (!isfinite(share))
		return text;
	if (share > WIDE)
		show_ends(metric, low, high, ends, sizeof(ends));
	else
		snprintf(ends, sizeof(ends), "±%.1f %%", share);
	snprintf(text, SHOWN_ROOM, few ? "(%s)" : "%s", ends);
	return text;
}

char *shown_cycles(double cycles, char text[SHOWN_ROOM])
{
	if (isfinite(cycles))
		snprintf(text, SHOWN_ROOM, "%.*f", cycles < 99.95 ? 1 : 0, cycles);
	else
		snprintf(text, SHOWN_ROOM, "-");
	return text;
}

/* What a metric is where the trial takes this time; NAN: it is no time and no rate. */
static double at_time(const json_t *metrics, const json_t *metric, double time)
{
	const json_t *one;
	size_t i;

	json_array_foreach(metrics, i, one)
	{
		if (strcmp(json_string_value(json_object_get(one, "name")), "time") != 0)
			continue;
		if (one == metric)
			return time;
		if (json_is_true(json_object_get(metric, "rate")))
			return record_real(json_object_get(metric, "value")) *
			       record_real(json_object_get(one, "value")) / time;
	}
	return NAN;
}

unsigned shown_modes(const json_t *trial, struct shown_mode mode[SHOWN_MODES])
{
	const json_t *metrics = json_object_get(trial, "metrics"),
		     *first = json_array_get(metrics, 0), *one,
		     *modes = json_object_get(json_object_get(trial, "samples"), "modes");
	size_t i;

	json_array_foreach(modes, i, one)
	{
		const double time = record_real(json_object_get(one, "time")),
			     value = at_time(metrics, first, time);

		if (!isfinite(value) || i >= SHOWN_MODES)
			return 0;
		quantity_show(value, json_string_value(json_object_get(first, "unit")),
			      mode[i].value, SHOWN_ROOM);
		snprintf(mode[i].share, SHOWN_ROOM, "in %.0f %%",
			 100 * record_real(json_object_get(one, "share")));
		shown_cycles(time / record_real(json_object_get(trial, "cycle")), mode[i].cycles);
	}
	return (unsigned)json_array_size(modes);
}
