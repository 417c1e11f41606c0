/* SPDX-License-Identifier: Apache-2.0 */
#include "base/message.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/utf8.h"

enum { INDENT = 2 };

static void say(const char *head, const char *format, va_list arguments)
{
	char *text = NULL;
	const int length = vasprintf(&text, format, arguments);
	const char *said = length < 0 ? format : utf8_tame(text); /* no memory */

	if (isatty(STDERR_FILENO))
		wrapped_row(head, said, INDENT, stderr);
	else
		fprintf(stderr, "%s%s\n", head, said);
	free(length < 0 ? NULL : text);
}

void message(const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	say("", format, arguments);
	va_end(arguments);
}

void message_own(const char *format, ...)
{
	char head[64];
	va_list arguments;

	snprintf(head, sizeof(head), "%s: ", program_invocation_short_name);
	va_start(arguments, format);
	say(head, format, arguments);
	va_end(arguments);
}
