/* SPDX-License-Identifier: Apache-2.0 */
/* Why a file cannot be used: one line, which begins with the file's name. */
#ifndef LOCUS_KIT_REFUSAL_H
#define LOCUS_KIT_REFUSAL_H

#include <stddef.h>

/* Where the line goes, and the name that it begins with. */
struct refusal {
	const char *file;
	char *text;
	size_t size;
};

/* Writes the line; control characters in it become '?'. Returns -1. */
int refuse(struct refusal, const char *format, ...) __attribute__((format(printf, 2, 3)));

/*
 * For something found in a file that is quoted in a message: cuts it to 32 characters, and makes
 * '?' of all that is not printable ASCII. Returns the text.
 */
char *refusal_quote(char *text);

#endif
