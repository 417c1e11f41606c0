/* SPDX-License-Identifier: Apache-2.0 */
/* Sentences of any length on a terminal. */
#ifndef LOCUS_WRAPPED_H
#define LOCUS_WRAPPED_H

#include <stdio.h>

/* What all that is printed fits into. */
enum { WRAPPED_WIDTH = 100 };

/*
 * In lines of at most WRAPPED_WIDTH columns, broken at blanks and behind "|"; all but the first are
 * indented.
 */
void wrapped_print(const char *text, int indent, FILE *);
/* The same, behind a head that is printed as it is. */
void wrapped_row(const char *head, const char *text, int indent, FILE *);
/* A shell command: broken lines end with a backslash, so that it can be copied. */
void wrapped_command(const char *head, const char *text, int indent, FILE *);

#endif
