/* SPDX-License-Identifier: Apache-2.0 */
/* The same plans on all ranks. */
#ifndef LOCUS_PLANS_AGREE_H
#define LOCUS_PLANS_AGREE_H

#include "harness/plan/plans.h"

/*
 * Ranks in lockstep need the same trials, which machines that differ do not give; and the same
 * groups of them: what is refused on one is on all, and the least room decides. 0, or the status to
 * exit with after a message.
 */
int plans_agree(struct plans *, struct setting *);

#endif
