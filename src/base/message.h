/* SPDX-License-Identifier: Apache-2.0 */
/* Messages to the user, on stderr, and text that is wrapped for a terminal. */
#ifndef LOCUS_MESSAGE_H
#define LOCUS_MESSAGE_H

#include <stdbool.h>
#include <stdio.h>

/*
 * Prints one line; the format contains no line break, and a control character in an argument
 * becomes '?'. On a terminal it is wrapped between words; in a file or a pipe it stays one line, so
 * that it can be searched.
 */
void message(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* As message(), with the program's name in front: "locus: ...". */
void message_own(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Flushes standard output. false, after a message, if a part of it could not be written. */
bool message_flush(void);

/* Text wrapped for a terminal. */

/* The widest and the narrowest that text is wrapped to (columns). */
enum { MESSAGE_WIDTH = 100, MESSAGE_LEAST = 60 };

/* The width of COLUMNS, else of the terminal, within these limits; MESSAGE_WIDTH without both. */
int message_width(FILE *);

/*
 * Prints lines of at most message_width() columns, broken at blanks and behind "|"; all but the
 * first are indented.
 */
void message_print(const char *text, int indent, FILE *);
/* Prints the text after a head, which is printed unchanged. */
void message_row(const char *head, const char *text, int indent, FILE *);
/* A shell command: broken lines end with a backslash, so that it can be copied. */
void message_command(const char *head, const char *text, int indent, FILE *);

#endif
