/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Text from outside - arguments, paths, the environment, host names, files of /proc and /sys - may
 * be any bytes; JSON takes only UTF-8, and a terminal obeys control characters. In a record, \xHH
 * stands for a byte that is not UTF-8, a byte of a control character, or a backslash that would
 * look like such an escape. The encoding is lossless: different texts stay different.
 */
#ifndef LOCUS_UTF8_H
#define LOCUS_UTF8_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

/* The most bytes that the encoding of n bytes needs, with the final zero. */
#define UTF8_ROOM(n) ((size_t)4 * (n))

/* Encodes text, as much as there is room for; returns `utf8`. */
char *utf8_print(const char *text, char *utf8, size_t size);

/* A string of JSON; NULL where text is NULL, or without memory. */
json_t *utf8_json(const char *text);

/* The bytes of a byte order mark, which some editors write, at the beginning of a text, or 0. */
size_t utf8_mark(const char *text, size_t size);

/* The name of this host, encoded. Returns `host`. */
#define UTF8_HOST UTF8_ROOM(256)
char *utf8_host(char host[UTF8_HOST]);

/* For a terminal: each byte of a control character becomes '?'. Returns the text. */
char *utf8_tame(char *text);

/* Removes bytes of characters that "%.48s" has cut, and of control characters. Returns the text. */
char *utf8_whole(char *text);

/* Whether the byte is the first of a character; the number of characters in a text. */
bool utf8_begins(char);
int utf8_width(const char *);

#endif
