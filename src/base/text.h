/* SPDX-License-Identifier: Apache-2.0 */
/* Texts made of values, for people. */
#ifndef LOCUS_TEXT_H
#define LOCUS_TEXT_H

#include <stdint.h>

/* What printf would print, to be freed. NULL: no memory. */
char *text_of(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* A short text by value, so that it can be an argument of printf: count_text(3, "CPU").of */
struct text {
	char of[32];
};
struct text count_text(unsigned n, const char *what); /* "1 CPU", "3 CPUs" */

/* "1.5 GiB", "512 MiB", "17 B": at most 3 digits and a half; "unlimited" for NO_LIMIT. */
#define BYTES_TEXT 24
const char *bytes_text(char text[BYTES_TEXT], uint64_t bytes);

#endif
