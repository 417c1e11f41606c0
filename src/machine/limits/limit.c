/* SPDX-License-Identifier: Apache-2.0 */
#include "machine/limits/limit.h"

#include <stdarg.h>
#include <stdio.h>

void limit_begin(struct memory_limit *l)
{
	*l = (struct memory_limit){ .available = NO_LIMIT, .sharers = 1, .what = "no known limit" };
}

void limit_consider(struct memory_limit *l, unsigned sharers, uint64_t available,
		    const char *format, ...)
{
	va_list arguments;

	if (available / sharers >= l->available)
		return;
	l->available = available / sharers;
	l->sharers = sharers;
	va_start(arguments, format);
	vsnprintf(l->what, sizeof(l->what), format, arguments);
	va_end(arguments);
}
