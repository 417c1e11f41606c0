/* SPDX-License-Identifier: Apache-2.0 */
#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/utf8.h"

/* Includes U+0080 to U+009F: to a terminal, U+009B begins a command like ESC [. */
static bool controls(const char *text)
{
	const unsigned char first = (unsigned char)text[0], second = (unsigned char)text[1];

	return first < ' ' || first == 0x7f || (first == 0xc2 && second >= 0x80 && second < 0xa0);
}

/*
 * Length in bytes of the UTF-8 character at the start of text; 0: none that a record stores
 * unchanged. jansson decides what is valid.
 */
static size_t character(const char *text)
{
	if (controls(text))
		return 0;
	if ((unsigned char)*text < 0x80)
		return 1;
	for (size_t n = 2; n <= 4 && text[n - 1]; n++) {
		json_t *one = json_stringn(text, n);
		const bool good = one;

		json_decref(one);
		if (good)
			return n;
	}
	return 0;
}

static bool is_escape(const char *text)
{
	return text[0] == '\\' && text[1] == 'x' && isxdigit((unsigned char)text[2]) &&
	       isxdigit((unsigned char)text[3]);
}

char *utf8_print(const char *text, char *utf8, size_t size)
{
	size_t used = 0;

	while (*text) {
		const size_t n = is_escape(text) ? 0 : character(text);
		const size_t length = n ? n : strlen("\\xff");

		if (used + length >= size)
			break;
		if (n)
			memcpy(utf8 + used, text, n);
		else
			sprintf(utf8 + used, "\\x%02x", (unsigned char)*text);
		used += length;
		text += n ? n : 1;
	}
	utf8[used] = 0;
	return utf8;
}

json_t *utf8_json(const char *text)
{
	const size_t size = text ? UTF8_ROOM(strlen(text) + 1) : 0;
	char *utf8 = size ? malloc(size) : NULL;
	json_t *string = utf8 ? json_string(utf8_print(text, utf8, size)) : NULL;

	free(utf8);
	return string;
}

size_t utf8_mark(const char *text, size_t size)
{
	static const char mark[] = "\xef\xbb\xbf";
	const size_t n = sizeof(mark) - 1;

	return size >= n && !memcmp(text, mark, n) ? n : 0;
}

char *utf8_host(char host[UTF8_HOST])
{
	char name[UTF8_HOST / 4] = "";

	gethostname(name, sizeof(name) - 1);
	return utf8_print(*name ? name : "(none)", host, UTF8_HOST); /* as uname prints it */
}

char *utf8_tame(char *text)
{
	for (char *c = text; *c; c++)
		if (controls(c)) {
			if (!utf8_begins(c[1]))
				*c++ = '?';
			*c = '?';
		}
	return text;
}

char *utf8_whole(char *text)
{
	char *to = text;

	for (const char *c = text; *c;) {
		const size_t n = character(c);

		memmove(to, c, n);
		to += n;
		c += n ? n : 1;
	}
	*to = 0;
	return text;
}

bool utf8_begins(char c)
{
	return (c & 0xc0) != 0x80;
}

int utf8_width(const char *text)
{
	int width = 0;

	for (; *text; text++)
		width += utf8_begins(*text);
	return width;
}
