/* SPDX-License-Identifier: Apache-2.0 */
/* What people write for a parameter, and what it means. */
#ifndef LOCUS_VALUES_H
#define LOCUS_VALUES_H

#include "benchmark.h"

struct values {
	unsigned n;
	union value *value;                /* text values are owned by this structure */
};

/*
 * Reads a list, a range or words (benchmark.h says which) for a parameter; "auto" and "all" ask the machine. LAYOUT and PATH values stay the words
 * that were given: what a layout is depends on the number of threads.
 * 0; or an exit status, 2 (not understood) or 3 (not on this machine), with a sentence in why that names neither option nor program.
 */
int values_parse(const struct parameter *, const char *text, const struct machine *, enum profile, struct values *, char *why, size_t size);
void values_free(const struct parameter *, struct values *);

/* The canonical form, as in identities and records: bytes and counts as plain numbers, choices by name. */
char *value_print(const struct parameter *, union value, char *text, size_t size);
/* For people: "1 GiB". */
char *value_show(const struct parameter *, union value, char *text, size_t size);

/* One number: "64K", "1.5G" (powers of 1024), "1e9", "10M" (powers of 1000). -1: not one; why says what is expected. */
int parse_size(const char *text, uint64_t *, char *why, size_t size);
int parse_count(const char *text, uint64_t *, char *why, size_t size);
/* "60s", "500ms", "2m", "1h"; without a unit, seconds. Finite, not negative. */
int parse_seconds(const char *text, double *, char *why, size_t size);

/* A number with an SI prefix and its unit, four digits: "12.34 GB/s". NaN prints as "-". */
char *show_number(double, const char *unit, char *text, size_t size);

#endif
