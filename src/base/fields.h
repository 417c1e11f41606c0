/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Texts of lines "key: value", "key = value" and "key value", as those of /proc are. The first line
 * that begins with the key as a whole word counts; blanks before it are allowed. `text` may be
 * NULL: it holds no key.
 */
#ifndef LOCUS_FIELDS_H
#define LOCUS_FIELDS_H

#include <stdbool.h>
#include <stdint.h>

/* Where the value begins; NULL: no such key. */
const char *field_find(const char *text, const char *key);

/* The value up to the line's end, without blanks around it, to be freed. NULL: none. */
char *field_text(const char *text, const char *key);

/* A value that is a number; "kB" after it multiplies by 1024. False: none, *value is untouched. */
bool field_number(const char *text, const char *key, uint64_t *value);

#endif
