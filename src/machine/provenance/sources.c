/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/sysfs.h"
#include "base/utf8.h"
#include "machine/provenance/sources.h"

void source_put_value(json_t *object, const char *name, json_t *value, const char *why, ...)
{
	char reason[PATH_MAX + 128], key[UTF8_ROOM(NAME_MAX + 1) + sizeof("_why")];
	va_list arguments;

	utf8_print(name, key, UTF8_ROOM(NAME_MAX + 1));
	json_object_set_new(object, key, value ? value : json_null());
	if (value)
		return;
	va_start(arguments, why);
	vsnprintf(reason, sizeof(reason), why, arguments);
	va_end(arguments);
	strcat(key, "_why");
	json_object_set_new(object, key, utf8_json(reason));
}

json_t *source_text(char *text)
{
	json_t *value = utf8_json(text);

	free(text);
	return value;
}

json_t *source_line(const char *root, const char *path, int64_t scale)
{
	(void)scale;
	return source_text(sysfs_line(root, "%s", path));
}

json_t *source_choice(const char *root, const char *path, int64_t scale)
{
	(void)scale;
	return source_text(sysfs_choice(root, "%s", path));
}

bool source_parse_integer(const char *text, int64_t *value)
{
	char *end;

	errno = 0;
	*value = strtoll(text, &end, 0);
	if (end == text || *end)
		errno = EINVAL;
	return !errno;
}

json_t *source_integer(const char *root, const char *path, int64_t scale)
{
	char *line = sysfs_line(root, "%s", path);
	json_t *result = NULL;
	int64_t value;

	if (!line)
		return NULL;
	if (source_parse_integer(line, &value)) {
		if (__builtin_mul_overflow(value, scale, &value))
			errno = ERANGE;
		else
			result = json_integer(value);
	}
	free(line);
	return result;
}

void source_put(json_t *object, const char *root, const struct source *s)
{
	json_t *value = s->read(root, s->path, s->scale ? s->scale : 1);

	source_put_value(object, s->key, value, "%s: %s", s->path, strerror(errno));
}

void source_put_all(json_t *object, const char *root, const struct source *sources)
{
	for (; sources->key; sources++)
		source_put(object, root, sources);
}

json_t *source_size(uint64_t value)
{
	return value <= INT64_MAX ? json_integer((json_int_t)value) : NULL;
}
