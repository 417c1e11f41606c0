/* SPDX-License-Identifier: Apache-2.0 */
/* A trial's status, with its reasons and notes, added one after the other. */
#ifndef LOCUS_VERDICT_H
#define LOCUS_VERDICT_H

#include <jansson.h>

/*
 * From the best to the gravest: a trial has the gravest one that applies. Noise outranks a wide
 * interval, which readers see for themselves, and two modes, which noise may have caused.
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
	/* lists of sentences; the first reason belongs to the status */
	json_t *reasons, *notes;
};

/* Adds a reason for a status; STATUS_OK: a note. */
void verdict_add(struct verdict *, enum status, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

#endif
