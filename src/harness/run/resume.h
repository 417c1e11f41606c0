/* SPDX-License-Identifier: Apache-2.0 */
/* --resume: which trials are complete in the record, and which of them are measured again. */
#ifndef LOCUS_RESUME_H
#define LOCUS_RESUME_H

#include "harness/plan/plan.h"
#include "harness/record/record.h"
#include "count/counting.h"

/*
 * Marks the complete trials, and says on stderr how many of them lack a counter that is asked for
 * now. On all ranks. Returns how many are not to be measured.
 */
unsigned resume_mark(struct plans *, const struct record *, const struct counting *,
		     const struct ranks *, const char *output);

/* Whether a trial is to be measured. */
bool resume_wants(const struct planned *);
/* Whether one of n trials is not complete yet. */
bool resume_left(const struct planned *, unsigned n);

#endif
