/* SPDX-License-Identifier: Apache-2.0 */
#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/arithmetic.h"
#include "base/text.h"
#include "base/numbers.h"
#include "harness/ask/argument.h"
#include "base/message.h"

int argument_refuse(const char *program, const char *option, const char *why)
{
	message("%s: --%s: %s", program, option, why);
	return EINVAL;
}

int argument_name(const char *program, const char *option, const char *text,
		  const char *const *names, unsigned n, const char *expected, unsigned *number)
{
	char why[256];
	int near;

	for (*number = 0; *number < n; ++*number)
		if (strcmp(names[*number], text) == 0)
			return 0;
	near = names_nearest(text, names, n);
	snprintf(why, sizeof(why), "there is no '%s'; expected %s%s%s%s", text, expected,
		 near < 0 ? "" : "; did you mean '", near < 0 ? "" : names[near],
		 near < 0 ? "" : "'?");
	return argument_refuse(program, option, why);
}

int argument_seconds(const char *program, const char *option, const char *text, double *s)
{
	char why[256];

	if (quantity_seconds(text, s, why, sizeof(why)))
		return argument_refuse(program, option, why);
	return *s == 0 ? argument_refuse(program, option, "must be more than zero") : 0;
}

int argument_count(const char *program, const char *option, const char *text, uint64_t least,
		   uint64_t most, uint64_t *n)
{
	char why[256];

	if (quantity_count(text, n, why, sizeof(why)))
		return argument_refuse(program, option, why);
	if (*n >= least && *n <= most)
		return 0;
	snprintf(why, sizeof(why), "%s is not between %llu and %llu", text,
		 (unsigned long long)least, (unsigned long long)most);
	return argument_refuse(program, option, why);
}

/* Names are separated by ","; alternatives, of which the first that works is taken, by "|". */
static bool has_empty_name(const char *list)
{
	size_t length;

	do {
		length = strcspn(list, ",|");
		list += length;
	} while (length && *list++);
	return !length;
}

int argument_events(const char *program, const char *list)
{
	char word[256], other[256], why[320];
	const char *rest = list;

	if (has_empty_name(list))
		return argument_refuse(program, "counters", "there is an empty name in the list");
	for (const char *c = list; *c; c++)
		/* it would break lines that show the name */
		if (iscntrl((unsigned char)*c))
			return argument_refuse(
				program, "counters",
				"there is a control character in the list: a line break?");
	while (names_next(&rest, word, sizeof(word))) {
		const char *others = rest;

		snprintf(why, sizeof(why), "%s is given twice", word);
		while (names_next(&others, other, sizeof(other)))
			if (!strcmp(word, other))
				return argument_refuse(program, "counters", why);
	}
	return 0;
}

/* A key has the form of names in the record: [A-Za-z0-9][A-Za-z0-9_.-]* */
static bool is_key(const char *text, size_t length)
{
	for (size_t i = 0; i < length; i++)
		if (!isascii(text[i]) ||
		    (!isalnum((unsigned char)text[i]) && (i == 0 || !strchr("_.-", text[i]))))
			return false;
	return length > 0;
}

int argument_tag(const char *program, const char *text, const char *const *tags, unsigned n,
		 unsigned most)
{
	const size_t length = strcspn(text, "=");
	char why[256];

	if (!text[length] || !is_key(text, length)) {
		snprintf(why, sizeof(why),
			 "'%.60s' is not KEY=VALUE, such as campaign=may; a key is of letters and "
			 "digits, also with _.- in it",
			 text);
		return argument_refuse(program, "tag", why);
	}
	for (unsigned i = 0; i < n; i++) {
		if (strncmp(tags[i], text, length + 1))
			continue;
		snprintf(why, sizeof(why), "%.*s is given twice", (int)smaller(length, 60), text);
		return argument_refuse(program, "tag", why);
	}
	if (n < most)
		return 0;
	snprintf(why, sizeof(why), "there are more than %u", most);
	return argument_refuse(program, "tag", why);
}
