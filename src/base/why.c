/* SPDX-License-Identifier: Apache-2.0 */
#include "base/why.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

void why_set(const char **why, const char *format, ...)
{
	static _Thread_local char sentence[1024];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(sentence, sizeof(sentence), format, arguments);
	va_end(arguments);
	*why = sentence;
	errno = ENODEV;
}

int why_misunderstood(int failed)
{
	errno = EINVAL;
	return failed;
}
