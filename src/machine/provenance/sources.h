/* SPDX-License-Identifier: Apache-2.0 */
/* Reads values for the provenance: each becomes a value, or null with the reason. */
#ifndef LOCUS_SOURCES_H
#define LOCUS_SOURCES_H

#include <stdbool.h>
#include <stdint.h>
#include <jansson.h>

#include "base/arithmetic.h"

#define SOURCE_CPUS  "/sys/devices/system/cpu"
#define SOURCE_NODES "/sys/devices/system/node"
#define SOURCE_THP   "/sys/kernel/mm/transparent_hugepage"

/* Takes over the value's reference. NULL becomes null, with the reason as NAME_why. */
void source_put_value(json_t *object, const char *name, json_t *value, const char *why, ...)
	__attribute__((format(printf, 4, 5)));

/* Frees the text. NULL if the text is NULL; keeps errno. */
json_t *source_text(char *text);

/* The value in a file; NULL with errno. */
json_t *source_line(const char *root, const char *path, int64_t scale);
json_t *source_choice(const char *root, const char *path, int64_t scale);
json_t *source_integer(const char *root, const char *path, int64_t scale); /* times the scale */
/* Signed: perf_event_paranoid may be -1. Decimal, octal or hexadecimal. False with errno. */
bool source_parse_integer(const char *text, int64_t *value);
json_t *source_size(uint64_t value); /* NULL: too large for the record */

/* A value read from a file. */
struct source {
	const char *key, *path;
	json_t *(*read)(const char *root, const char *path, int64_t scale);
	int64_t scale;
};
void source_put(json_t *object, const char *root, const struct source *);
void source_put_all(json_t *object, const char *root,
		    const struct source *); /* ends with a row without a key */

#endif
