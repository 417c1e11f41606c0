/* SPDX-License-Identifier: Apache-2.0 */
/* What a user is told beside the results. */
#ifndef LOCUS_MESSAGE_H
#define LOCUS_MESSAGE_H

/*
 * A line on stderr, without a line break in the format. On a terminal it is wrapped between words;
 * in a file or a pipe it stays one line, to be searched.
 */
void message(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* The same, behind the program's name. */
void message_own(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
