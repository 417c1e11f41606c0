/* SPDX-License-Identifier: Apache-2.0 */
/* Reads a file of expected values, which people may have edited. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/arithmetic.h"
#include "base/text.h"
#include "base/utf8.h"
#include "commands/health/finding.h"

#define SCHEMA "locus-expected-1."
#define MAKE   "; locus export --expect makes such files"

enum { MOST_BYTES = 64 << 20 };

/* Whether the object has all these keys, as texts. False: `why` says which it lacks. */
static bool has_texts(const json_t *object, const char *const *keys, size_t n, const char *what,
		      char why[HEALTH_TEXT])
{
	for (size_t i = 0; i < n; i++)
		if (!health_string(object, keys[i])) {
			snprintf(why, HEALTH_TEXT, "%s has no text \"%s\"", what, keys[i]);
			return false;
		}
	return true;
}

static bool are_bounds(const json_t *m, char why[HEALTH_TEXT])
{
	static const char *const keys[] = { "trial", "metric", "name", "unit", "better" };
	const json_t *low = json_object_get(m, "low"), *high = json_object_get(m, "high");

	if (!has_texts(m, keys, LENGTH(keys), "a metric", why))
		return false;
	if (json_is_number(low) && json_is_number(high) && json_number_value(low) > 0 &&
	    json_number_value(low) <= json_number_value(high))
		return true;
	snprintf(why, HEALTH_TEXT, "%.80s: low and high are not in this order",
		 health_string(m, "name"));
	return false;
}

const json_t *expected_bounds(const json_t *of_class, const char *trial, const char *metric)
{
	const json_t *m;
	size_t i;

	json_array_foreach(json_object_get(of_class, "metrics"), i, m)
		if (!strcmp(health_string(m, "trial"), trial) &&
		    !strcmp(health_string(m, "metric"), metric))
			return m;
	return NULL;
}

static bool is_trial(const json_t *of_class, const json_t *t, char why[HEALTH_TEXT])
{
	static const char *const keys[] = { "trial", "metric", "component" };

	if (!has_texts(t, keys, LENGTH(keys), "an entry of health", why))
		return false;
	if (expected_bounds(of_class, health_string(t, "trial"), health_string(t, "metric")))
		return true;
	snprintf(why, HEALTH_TEXT, "health names %.40s of trial %.20s, which has no bounds",
		 health_string(t, "metric"), health_string(t, "trial"));
	return false;
}

/* A value that must be equal, or {"least": number} or {"most": number}, or both. */
static bool is_fact(const char *name, json_t *fact, char why[HEALTH_TEXT])
{
	const json_t *least = json_object_get(fact, "least"), *most = json_object_get(fact, "most");

	if (!json_is_object(fact))
		return true;
	if ((!least && !most) || (least && !json_is_number(least)) ||
	    (most && !json_is_number(most)) || json_object_size(fact) != (size_t) !!least + !!most)
		snprintf(why, HEALTH_TEXT,
			 "fact %.80s: expected a value, or an object with the numbers least or "
			 "most",
			 name);
	else if (least && most && json_number_value(least) > json_number_value(most))
		snprintf(why, HEALTH_TEXT, "fact %.80s: least and most are not in this order",
			 name);
	else
		return true;
	return false;
}

/* Gives the class an empty part that it lacks. False, and why, if the part is something else. */
static bool has_part(json_t *of_class, const char *key, json_type type, char why[HEALTH_TEXT])
{
	const json_t *part = json_object_get(of_class, key);

	if (!part)
		json_object_set_new(of_class, key,
				    type == JSON_OBJECT ? json_object() : json_array());
	if (!part || json_typeof(part) == type)
		return true;
	snprintf(why, HEALTH_TEXT, "\"%s\" of a class is no %s", key,
		 type == JSON_OBJECT ? "object" : "list");
	return false;
}

static bool is_class(json_t *c, char why[HEALTH_TEXT])
{
	static const char *const keys[] = { "class", "cpu" };
	const char *name;
	json_t *one;
	size_t i;

	if (!has_texts(c, keys, LENGTH(keys), "a class", why) ||
	    !has_part(c, "facts", JSON_OBJECT, why) || !has_part(c, "metrics", JSON_ARRAY, why) ||
	    !has_part(c, "health", JSON_ARRAY, why))
		return false;
	json_object_foreach(json_object_get(c, "facts"), name, one)
		if (!is_fact(name, one, why))
			return false;
	json_array_foreach(json_object_get(c, "metrics"), i, one)
		if (!are_bounds(one, why))
			return false;
	json_array_foreach(json_object_get(c, "health"), i, one)
		if (!is_trial(c, one, why))
			return false;
	return true;
}

static bool are_classes(const json_t *document, char why[HEALTH_TEXT])
{
	const char *schema = health_string(document, "schema");
	const json_t *classes = json_object_get(document, "classes");
	json_t *one;
	size_t i;

	if (!schema || strncmp(schema, SCHEMA, strlen(SCHEMA))) {
		snprintf(why, HEALTH_TEXT, "its schema is '%.40s', expected " SCHEMA "1" MAKE,
			 schema ? schema : "");
		return false;
	}
	if (!json_array_size(classes)) {
		snprintf(why, HEALTH_TEXT, "it has no list of classes" MAKE);
		return false;
	}
	json_array_foreach(classes, i, one)
		if (!is_class(one, why))
			return false;
	return true;
}

json_t *expected_parse(const char *text, size_t size, char why[HEALTH_TEXT])
{
	const size_t mark = utf8_mark(text, size);
	json_error_t error;
	json_t *document = json_loadb(text + mark, size - mark, 0, &error), *classes = NULL;

	if (!document)
		snprintf(why, HEALTH_TEXT, "line %d: %.100s" MAKE, error.line, error.text);
	else if (are_classes(document, why))
		classes = json_incref(json_object_get(document, "classes"));
	json_decref(document);
	return classes;
}

/* The bytes of a file, to be freed. NULL with errno. */
static char *bytes_of(const char *path, size_t *n)
{
	FILE *in = fopen(path, "re");
	struct stat s;
	char *bytes = NULL;

	if (!in)
		return NULL;
	errno = EFBIG;
	if (!fstat(fileno(in), &s) && s.st_size <= MOST_BYTES)
		bytes = malloc((size_t)s.st_size + 1);
	*n = bytes ? fread(bytes, 1, (size_t)s.st_size, in) : 0;
	if (bytes && ferror(in)) {
		free(bytes);
		bytes = NULL;
	}
	fclose(in);
	return bytes;
}

json_t *expected_read(const char *path, char why[HEALTH_TEXT])
{
	char inside[HEALTH_TEXT];
	size_t n;
	char *bytes = bytes_of(path, &n);
	json_t *classes = bytes ? expected_parse(bytes, n, inside) : NULL;

	if (!bytes)
		snprintf(why, HEALTH_TEXT, "%.120s: cannot be read: %s", path, strerror(errno));
	else if (!classes)
		snprintf(why, HEALTH_TEXT, "%.80s: %.170s", path, inside);
	free(bytes);
	return classes;
}
