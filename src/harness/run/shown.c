/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdio.h>

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
