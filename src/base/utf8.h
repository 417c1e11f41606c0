/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Text from outside - arguments, paths, the environment, host names, files of /proc and /sys - may
 * be any bytes; JSON has only UTF-8. In a record \xHH stands for one byte: for each that is no part
 * of a UTF-8 character, and for a backslash that would begin such an escape by chance. All other
 * text is as it was, so that no byte is lost, and no two texts become one.
 */
#ifndef LOCUS_UTF8_H
#define LOCUS_UTF8_H

#include <jansson.h>
#include <stddef.h>

/* Room that n bytes of text can take, the final zero among them. */
#define UTF8_ROOM(n) ((size_t)4 * (n))

/* Writes as much as there is room for; returns `utf8`. */
char *utf8_print(const char *text, char *utf8, size_t size);

/* A string of JSON; NULL where text is NULL, or without memory. */
json_t *utf8_json(const char *text);

#endif
