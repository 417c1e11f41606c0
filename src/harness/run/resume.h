/* SPDX-License-Identifier: Apache-2.0 */
/* --resume: what is complete in the record, and what of it is wanted once more. */
#ifndef LOCUS_RESUME_H
#define LOCUS_RESUME_H

#include "harness/plan/plans.h"
#include "harness/record/record.h"
#include "count/counting.h"

/*
 * Marks the trials, and says on stderr what those that are complete lack of what would be counted
 * now. On all ranks. Returns how many are not wanted.
 */
unsigned resume_mark(struct plans *, const struct record *, const struct counting *,
		     const struct ranks *, const char *output);

/* Whether a trial is to be measured. */
bool resume_wants(const struct planned *);
/* Whether one of them is left to be measured, and not only wanted once more. */
bool resume_left(const struct planned *, unsigned n);

#endif
