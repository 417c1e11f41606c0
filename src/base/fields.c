/* SPDX-License-Identifier: Apache-2.0 */
/* Values by key, in texts such as /proc/cpuinfo. */
#include "base/sysfs.h"

#include <ctype.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/numbers.h"

static const char *skip_blanks(const char *text)
{
	return text + strspn(text, " \t");
}

static const char *next_line(const char *text)
{
	text = strchr(text, '\n');
	return text ? text + 1 : NULL;
}

/*
 * The text after "key:", "key =" or "key ". In a line with a colon the key is everything before the
 * colon: "model" is not the key of "model name: ...".
 */
static const char *behind_key(const char *line, const char *key, size_t length)
{
	const char *end;

	line = skip_blanks(line);
	if (strncmp(line, key, length))
		return NULL;
	line += length;
	end = skip_blanks(line);
	if (*end == ':' || *end == '=')
		return skip_blanks(end + 1);
	if (end == line || end[strcspn(end, ":\n")] == ':')
		return NULL;
	return end;
}

const char *field_find(const char *text, const char *key)
{
	size_t length = strlen(key);
	const char *value;

	for (; text; text = next_line(text)) {
		value = behind_key(text, key, length);
		if (value)
			return value;
	}
	return NULL;
}

char *field_text(const char *text, const char *key)
{
	const char *value = field_find(text, key), *end;

	if (!value)
		return NULL;
	end = value + strcspn(value, "\n");
	while (value < end && isspace((unsigned char)end[-1]))
		end--;
	return value < end ? strndup(value, (size_t)(end - value)) : NULL;
}

bool field_number(const char *text, const char *key, uint64_t *value)
{
	char *word = field_text(text, key);
	size_t length = word ? strlen(word) : 0;
	uint64_t unit = 1, number;
	bool found = false;

	if (length > 2 && !strcmp(word + length - 2, "kB")) {
		word[length - 2] = '\0';
		unit = 1024;
	}
	if (word && !number_parse(word, &number) && number <= UINT64_MAX / unit) {
		*value = number * unit;
		found = true;
	}
	free(word);
	return found;
}
