/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers, and lists of numbers such as "0-3,8", as the kernel and people write them. */
#ifndef LOCUS_NUMBERS_H
#define LOCUS_NUMBERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <hwloc.h>

/* The value of "max" and "unlimited". */
#define NO_LIMIT UINT64_MAX

/*
 * A decimal number, "max" or "unlimited", with nothing but blanks around it. -1 with errno: EINVAL
 * not a number, ERANGE too large.
 */
int number_parse(const char *text, uint64_t *value);

/*
 * A decimal number up to `most` at *at, without sign or leading blank; moves *at past it. False:
 * there is none.
 */
bool number_at(const char **at, unsigned most, unsigned *number);

/* The largest number in a list: above any CPU or node number, but small enough for a bitmap. */
#define NUMBER_LIST_MOST ((1u << 20) - 1)

/*
 * Parses "0-3,8"; "" is the empty set. NULL with errno: EINVAL, ENOMEM. Free it with
 * hwloc_bitmap_free().
 */
hwloc_bitmap_t number_list_parse(const char *text);

/*
 * Prints a set as a list, with steps: "0-63,128-191", "0-254:2". A list that is too long is cut and
 * ends in "...". Returns text.
 */
#define NUMBER_LIST_TEXT 256
const char *number_list_text(hwloc_const_bitmap_t, char text[NUMBER_LIST_TEXT]);

/* Quantities: numbers with units. */

/*
 * The parsers take one finite number, without sign or blank. They return 0, or -1 with a sentence
 * in `why` that says what is expected.
 */

/* Bytes: "64K", "1.5G" (powers of 1024). */
int quantity_bytes(const char *text, uint64_t *, char *why, size_t size);
/* "1e9", "10M" (powers of 1000). */
int quantity_count(const char *text, uint64_t *, char *why, size_t size);
/* 0, or a number that a record may hold, also multiplied by a unit: 1e-90 to 1e90. */
int quantity_real(const char *text, double *, char *why, size_t size);
/*
 * 0, or a time from 1 ns to 1e9 s: seconds without a unit, "60"; or numbers with units (h, min or
 * m, s, ms, us, ns), each smaller than the last, "500ms", "1h30m".
 */
int quantity_seconds(const char *text, double *, char *why, size_t size);
/*
 * A moment, in s since 1970: "2026-11-28T20:15:00Z" (UTC, with or without a fraction of a second),
 * or "@1795896900".
 */
int quantity_moment(const char *text, double *, char *why, size_t size);

/* Prints with an SI prefix and four digits: "12.34 GB/s". NaN is shown as "-". Returns text. */
char *quantity_show(double, const char *unit, char *text, size_t size);
/*
 * The same, with decimals down to the first that an error of ±doubt reaches; two to four digits,
 * and all before the point. NaN or 0: no doubt is known.
 */
char *quantity_show_within(double, double doubt, const char *unit, char *text, size_t size);
/* The divisor for showing a number: 1e9 for "12.34 GB/s". */
double quantity_scale(double, const char *unit);

#endif
