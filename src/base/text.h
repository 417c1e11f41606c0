/* SPDX-License-Identifier: Apache-2.0 */
/* Values as text, for people; and names, as people type them. */
#ifndef LOCUS_TEXT_H
#define LOCUS_TEXT_H

#include <stddef.h>
#include <stdint.h>

/* printf's text, to be freed. NULL: no memory. */
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

/* Lists of names, and names that users mistype. */

/*
 * Index of the name that was probably meant: one that begins with `typed`, else the one with the
 * smallest edit distance (insert, delete, replace, swap neighbours), if that is small for the
 * length. Case does not matter. -1: none is near.
 */
int names_nearest(const char *typed, const char *const *names, size_t n);

/*
 * Copies the word at *list, up to the next comma, to `word` (cut at size - 1), and moves *list past
 * it. Returns `word`; NULL at the end.
 */
char *names_next(const char **list, char *word, size_t size);

/* --- the glossary --- */

/* The meaning of a term. Up to its first ";" it can stand alone. NULL: there is no such term. */
const char *glossary_meaning(const char *term);
/* Puts at most `most` terms into `names`; returns how many. */
size_t glossary_terms(const char *names[], size_t most);

#endif
