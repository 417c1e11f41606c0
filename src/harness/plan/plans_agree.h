/* SPDX-License-Identifier: Apache-2.0 */
/* The same plans on all ranks. */
#ifndef LOCUS_PLANS_AGREE_H
#define LOCUS_PLANS_AGREE_H

#include "harness/plan/plans.h"

/*
 * Ranks run in lockstep, so they need the same trials and the same groups. Machines that differ may
 * plan different trials: this ends the run. A trial that one rank refuses is refused on all, and
 * the rank with the least room decides how much a group holds. 0, or the status to exit with after
 * a message.
 */
int plans_agree(struct plans *, struct setting *);

#endif
