/* SPDX-License-Identifier: Apache-2.0 */
/* The same plans on all ranks. */
#ifndef LOCUS_PLANS_AGREE_H
#define LOCUS_PLANS_AGREE_H

#include "harness/plan/plans.h"

/*
 * Ranks run in lockstep, so they need the same trials, which unlike machines do not plan, and the
 * same groups: what one rank refuses is refused on all, and the least room decides. 0, or the
 * status to exit with after a message.
 */
int plans_agree(struct plans *, struct setting *);

#endif
