/* SPDX-License-Identifier: Apache-2.0 */
/* Builds the texts that report the results of checks. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/utf8.h"
#include "commands/doctor/doctor.h"

void finding_set(struct finding *f, enum finding_state state, const char *format, ...)
{
	va_list arguments;

	f->state = state;
	va_start(arguments, format);
	vsnprintf(f->found, sizeof(f->found), format, arguments);
	va_end(arguments);
	utf8_tame(f->found);
}

void finding_add(struct finding *f, const char *format, ...)
{
	size_t used = strlen(f->found);
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(f->found + used, sizeof(f->found) - used, format, arguments);
	va_end(arguments);
	utf8_tame(f->found);
}

void finding_mend(struct finding *f, const char *format, ...)
{
	size_t used = strlen(f->remedy);
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(f->remedy + used, sizeof(f->remedy) - used, format, arguments);
	va_end(arguments);
	utf8_tame(f->remedy);
}
