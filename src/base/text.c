/* SPDX-License-Identifier: Apache-2.0 */
#include "base/text.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>

#include "base/numbers.h"

char *text_of(const char *format, ...)
{
	char *text = NULL;
	va_list list;

	va_start(list, format);
	if (vasprintf(&text, format, list) < 0)
		text = NULL;
	va_end(list);
	return text;
}

struct text text_count(unsigned n, const char *what)
{
	struct text t;

	snprintf(t.of, sizeof(t.of), "%u %s%s", n, what, n == 1 ? "" : "s");
	return t;
}

const char *text_bytes(char text[TEXT_BYTES], uint64_t bytes)
{
	static const char *const units[] = { "B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB" };
	double value = (double)bytes;
	unsigned unit = 0;

	for (; value >= 1023.5; unit++) /* a value that would print as 1024 is 1 of the next unit */
		value /= 1024;
	if (bytes == NO_LIMIT)
		snprintf(text, TEXT_BYTES, "unlimited");
	else
		snprintf(text, TEXT_BYTES, "%.4g %s",
			 value < 100 ? round(value * 10) / 10 : round(value), units[unit]);
	return text;
}

const char *text_duration(char text[TEXT_DURATION], double seconds)
{
	const double minutes = ceil(seconds / 60);

	if (seconds <= 120)
		snprintf(text, TEXT_DURATION, "%.0f s", ceil(fmax(seconds, 0)));
	else if (minutes < 60)
		snprintf(text, TEXT_DURATION, "%.0f min", minutes);
	else
		snprintf(text, TEXT_DURATION, "%.0f h %.0f min", floor(minutes / 60),
			 fmod(minutes, 60));
	return text;
}
