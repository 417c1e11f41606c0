/* SPDX-License-Identifier: Apache-2.0 */
/* Why a file cannot be used: one line, which begins with the file's name. */
#ifndef LOCUS_KIT_REFUSAL_H
#define LOCUS_KIT_REFUSAL_H

#include <stddef.h>

/* The caller's buffer for the line, and the name that it begins with. */
struct refusal {
	const char *file;
	char *text;
	size_t size;
};

/* Writes the line; control characters in it become '?'. Returns -1. */
int refusal_write(struct refusal, const char *format, ...) __attribute__((format(printf, 2, 3)));

/*
 * Prepares a text from a file to be quoted in a message: cuts it to 32 characters, and replaces all
 * but printable ASCII by '?'. Returns it.
 */
char *refusal_quote(char *text);

#endif
