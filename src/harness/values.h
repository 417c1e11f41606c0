/* SPDX-License-Identifier: Apache-2.0 */
/* What people write for a parameter, and what it means. */
#ifndef LOCUS_VALUES_H
#define LOCUS_VALUES_H

#include <limits.h>

#include "benchmark.h"
#include "base/utf8.h"

struct values {
	unsigned n;
	union value *value; /* text values are owned by this structure */
};

/*
 * Reads a list, a range or words (benchmark.h says which) for a parameter; "auto" and "all" ask the
 * machine. P_LAYOUT and P_PATH values stay the words that were given: what a layout is depends on
 * the number of threads. 0; or an exit status, 2 (not understood) or 3 (not on this machine), with
 * a sentence in why that names neither option nor program.
 */
int values_parse(const struct parameter *, const char *text, const struct machine *, enum profile,
		 struct values *, char *why, size_t size);
void values_free(const struct parameter *, struct values *);

/*
 * The canonical form, as in identities and records: bytes and counts as plain numbers, choices by
 * name, paths in UTF-8 (utf8.h). VALUE_ROOM is enough for any.
 */
enum { VALUE_ROOM = UTF8_ROOM(PATH_MAX) };
char *value_print(const struct parameter *, union value, char *text, size_t size);
bool value_same(const struct parameter *, union value, union value);
/* For people: "1 GiB". */
char *value_show(const struct parameter *, union value, char *text, size_t size);

/*
 * One number: "64K", "1.5G" (powers of 1024), "1e9", "10M" (powers of 1000). -1: not one; why says
 * what is expected.
 */
int parse_size(const char *text, uint64_t *, char *why, size_t size);
int parse_count(const char *text, uint64_t *, char *why, size_t size);
/*
 * Seconds without a unit, "60"; or numbers with units (h, min or m, s, ms, us, ns), each smaller
 * than the last: "500ms", "1h30m". Finite, not negative.
 */
int parse_seconds(const char *text, double *, char *why, size_t size);

/* A number with an SI prefix and its unit, four digits: "12.34 GB/s". NaN prints as "-". */
char *show_number(double, const char *unit, char *text, size_t size);

#endif
