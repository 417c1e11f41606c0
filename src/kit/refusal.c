/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stdio.h>

#include "kit/refusal.h"

int refusal_write(struct refusal why, const char *format, ...)
{
	const int length = snprintf(why.text, why.size, "%s: ", why.file);
	va_list list;

	va_start(list, format);
	if (length >= 0 && (size_t)length < why.size)
		vsnprintf(why.text + length, why.size - (size_t)length, format, list);
	va_end(list);
	for (char *c = why.text; *c; c++)
		if ((unsigned char)*c < ' ' || *c == 0x7f)
			*c = '?';
	return -1;
}

char *refusal_quote(char *text)
{
	size_t i;

	for (i = 0; i < 32 && text[i]; i++)
		if (text[i] < ' ' || text[i] > '~')
			text[i] = '?';
	text[i] = 0;
	return text;
}
