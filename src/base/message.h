/* SPDX-License-Identifier: Apache-2.0 */
/* Messages to the user, on stderr. */
#ifndef LOCUS_MESSAGE_H
#define LOCUS_MESSAGE_H

/*
 * Prints one line; the format contains no line break, and a control character in an argument
 * becomes '?'. On a terminal it is wrapped between words; in a file or a pipe it stays one line, so
 * that it can be searched.
 */
void message(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* The same, with the program's name in front: "locus: ...". */
void message_own(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
