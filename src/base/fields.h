/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Texts of lines "key: value", "key = value" or "key value", as in /proc. The first line that
 * begins with the key, as a whole word, counts; leading blanks are skipped. A NULL text has no
 * keys.
 */
#ifndef LOCUS_FIELDS_H
#define LOCUS_FIELDS_H

#include <stdbool.h>
#include <stdint.h>

/* Points to the value, within `text`; NULL: no such key. */
const char *field_find(const char *text, const char *key);

/* The value up to the line's end, without blanks around it, to be freed. NULL: none. */
char *field_text(const char *text, const char *key);

/* A number; "kB" after it multiplies by 1024. False: none, and *value is unchanged. */
bool field_number(const char *text, const char *key, uint64_t *value);

#endif
