/* SPDX-License-Identifier: Apache-2.0 */
#include "base/why.h"

#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>

#include "base/utf8.h"

void why_set(const char **why, const char *format, ...)
{
	static _Thread_local char sentence[PATH_MAX + 1024]; /* a path, and what is wrong */
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(sentence, sizeof(sentence), format, arguments);
	va_end(arguments);
	*why = utf8_tame(sentence);
	errno = ENODEV;
}

int why_misunderstood(int failed)
{
	errno = EINVAL;
	return failed;
}

char *why_quotable(char *text)
{
	size_t i;

	for (i = 0; i < 32 && text[i]; i++)
		if (text[i] < ' ' || text[i] > '~')
			text[i] = '?';
	text[i] = 0;
	return text;
}
