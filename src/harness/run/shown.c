/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "harness/record/json.h"
#include "harness/run/shown.h"
#include "base/quantity.h"

char *shown_value(const json_t *metric, char text[SHOWN_ROOM])
{
	return quantity_show(record_real(json_object_get(metric, "value")),
			     json_string_value(json_object_get(metric, "unit")), text, SHOWN_ROOM);
}

char *shown_interval(const json_t *metric, char text[SHOWN_ROOM])
{
	const json_t *ci = json_object_get(metric, "ci");
	const double value = record_real(json_object_get(metric, "value")),
		     low = record_real(json_array_get(ci, 0)),
		     high = record_real(json_array_get(ci, 1)),
		     of = record_real(json_object_get(json_object_get(metric, "range"), "of")),
		     share = 100 * fmax(value - low, high - value) / fabs(value);

	if (isfinite(share))
		snprintf(text, SHOWN_ROOM, "±%.*f %%", share < 99.95 ? 1 : 0, share);
	else if (isfinite(of))
		snprintf(text, SHOWN_ROOM, "range of %.0f", of);
	else
		snprintf(text, SHOWN_ROOM, "-");
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
