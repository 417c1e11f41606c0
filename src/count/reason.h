/* SPDX-License-Identifier: Apache-2.0 */
/* Why something can't be counted, and the command that would change that. */
#ifndef LOCUS_REASON_H
#define LOCUS_REASON_H

#include <stdbool.h>

struct reason {
	char what[320];	  /* one line */
	char remedy[192]; /* a command; "": none is known */
};

/* Sets `what`; clears the remedy. */
void reason_set(struct reason *, const char *format, ...) __attribute__((format(printf, 2, 3)));
void reason_set_remedy(struct reason *, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* "what: remedy", the caller's to free; NULL: ENOMEM. */
char *reason_line(const struct reason *);

/*
 * Whether this errno means that file descriptors ran out; then sets the reason, with how to raise
 * the limit.
 */
bool reason_too_few_files(int error, struct reason *);

#endif
