/* SPDX-License-Identifier: Apache-2.0 */
/* Values as text, for people. */
#ifndef LOCUS_TEXT_H
#define LOCUS_TEXT_H

#include <stdint.h>

/* What printf would print, to be freed. NULL: no memory. */
char *text_of(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* A short text, returned by value so that printf can take it: text_count(3, "CPU").of */
struct text {
	char of[32];
};
struct text text_count(unsigned n, const char *what); /* "1 CPU", "3 CPUs" */

/* "1.5 GiB", "512 MiB", "17 B": at most 4 digits; "unlimited" for NO_LIMIT. Returns text. */
#define TEXT_BYTES 24
const char *text_bytes(char text[TEXT_BYTES], uint64_t bytes);

/* A waiting time, rounded up: "9 s", "3 min", "51 min", "1 h 20 min". Returns text. */
#define TEXT_DURATION 32
const char *text_duration(char text[TEXT_DURATION], double seconds);

#endif
