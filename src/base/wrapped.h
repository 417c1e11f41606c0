/* SPDX-License-Identifier: Apache-2.0 */
/* Wraps text for a terminal. */
#ifndef LOCUS_WRAPPED_H
#define LOCUS_WRAPPED_H

#include <stdio.h>

/* Columns: the width of all output. */
enum { WRAPPED_WIDTH = 100 };

/*
 * Prints lines of at most WRAPPED_WIDTH columns, broken at blanks and behind "|"; all but the first
 * are indented.
 */
void wrapped_print(const char *text, int indent, FILE *);
/* The same, after a head that is printed unchanged. */
void wrapped_row(const char *head, const char *text, int indent, FILE *);
/* A shell command: broken lines end with a backslash, so that it can be copied. */
void wrapped_command(const char *head, const char *text, int indent, FILE *);

#endif
