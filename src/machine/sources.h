/* SPDX-License-Identifier: Apache-2.0 */
/* What provenance is made of: values read, or null with the reason; and its parts by subject. */
#ifndef LOCUS_SOURCES_H
#define LOCUS_SOURCES_H

#include <stdbool.h>
#include <stdint.h>
#include <jansson.h>

#include "base/arithmetic.h"

struct machine;

#define CPUS  "/sys/devices/system/cpu"
#define NODES "/sys/devices/system/node"
#define THP   "/sys/kernel/mm/transparent_hugepage"

/* Takes the value's reference. NULL becomes null, with the reason as NAME_why. */
void put(json_t *object, const char *name, json_t *value, const char *why, ...)
	__attribute__((format(printf, 4, 5)));

/* Takes the text. NULL, with the text's errno, where it is NULL. */
json_t *take_text(char *text);

/* What a file says; NULL with errno. */
json_t *read_line(const char *root, const char *path, int64_t scale);
json_t *read_choice(const char *root, const char *path, int64_t scale);
json_t *read_integer(const char *root, const char *path, int64_t scale); /* times the scale */
/* Signed: perf_event_paranoid may be -1. Decimal, octal or hexadecimal. False with errno. */
bool to_integer(const char *text, int64_t *value);
json_t *count(uint64_t value); /* NULL: too large for the record */

/* A value that is a file. */
struct source {
	const char *key, *path;
	json_t *(*read)(const char *root, const char *path, int64_t scale);
	int64_t scale;
};
void put_source(json_t *object, const char *root, const struct source *);
void put_sources(json_t *object, const char *root,
		 const struct source *); /* up to one without a key */

/* Whether a variable or an argument of this name may hold what nobody should read. */
bool is_secret(const char *name, size_t length);

/* The machine's parts; `root` as in sysfs.h. */
json_t *cpu_of(const char *root);
json_t *topology_of(const char *root, const struct machine *);
json_t *memory_of(const char *root, const struct machine *);
json_t *kernel_of(const char *root);
json_t *frequency_of(const char *root, const struct machine *);

#endif
