/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>

#include "harness/record/json.h"

json_t *record_number(double x)
{
	return isfinite(x) ? json_real(x) : json_null();
}

json_t *record_count(double value)
{
	return fabs(value) < 9e15 && value == floor(value) ? json_integer((json_int_t)value)
							   : record_number(value);
}

json_t *record_interval(double low, double high)
{
	return isfinite(low) && isfinite(high) ? json_pack("[f, f]", low, high) : json_null();
}

double record_real(const json_t *value)
{
	return json_is_number(value) ? json_number_value(value) : NAN;
}
