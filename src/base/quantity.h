/* SPDX-License-Identifier: Apache-2.0 */
/* Parses and prints numbers with units. */
#ifndef LOCUS_QUANTITY_H
#define LOCUS_QUANTITY_H

#include <stddef.h>
#include <stdint.h>

/*
 * The parsers take one finite number, without sign or blank. They return 0, or -1 with a sentence
 * in `why` that says what is expected.
 */

/* Bytes: "64K", "1.5G" (powers of 1024). */
int quantity_bytes(const char *text, uint64_t *, char *why, size_t size);
/* "1e9", "10M" (powers of 1000). */
int quantity_count(const char *text, uint64_t *, char *why, size_t size);
int quantity_real(const char *text, double *, char *why, size_t size);
/*
 * Seconds without a unit, "60"; or numbers with units (h, min or m, s, ms, us, ns), each smaller
 * than the last: "500ms", "1h30m".
 */
int quantity_seconds(const char *text, double *, char *why, size_t size);

/* Prints with an SI prefix and four digits: "12.34 GB/s". NaN is shown as "-". Returns text. */
char *quantity_show(double, const char *unit, char *text, size_t size);
/* What a number is divided by before it is shown: 1e9 for "12.34 GB/s". */
double quantity_scale(double, const char *unit);

#endif
