/* SPDX-License-Identifier: Apache-2.0 */
/* A trial's status, the reasons for it, and notes; they are added one after the other. */
#ifndef LOCUS_VERDICT_H
#define LOCUS_VERDICT_H

#include <jansson.h>

/*
 * From the best to the gravest: a trial has the gravest that holds. Noise outranks a wide interval,
 * which readers see for themselves, and two modes, which it may have made.
 */
enum status {
	STATUS_OK,
	STATUS_UNCONVERGED,
	STATUS_BIMODAL,
	STATUS_NOISY,
	STATUS_INTERRUPTED,
	STATUS_MISPLACED,
	STATUS_WRONG,
	STATUS_FAILED,
	STATUS_IMPOSSIBLE,
	STATUSES
};
extern const char *const status_names[STATUSES];
/* The status of this name. */
enum status status_named(const char *name);

struct verdict {
	enum status status;
	/* lists of sentences; the first reason is one of the status */
	json_t *reasons, *notes;
};

/* Adds a reason for a status; STATUS_OK: a note. */
void verdict_add(struct verdict *, enum status, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

#endif
