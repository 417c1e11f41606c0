/* SPDX-License-Identifier: Apache-2.0 */
/* Groups of trials that are sampled in turn: those that are compared, as many as memory holds. */
#ifndef LOCUS_GROUP_H
#define LOCUS_GROUP_H

#include "harness/plan/planned.h"

/*
 * Groups the trials. To be called again after refusals, or when the room has changed. Trials of a
 * group become neighbours; the order stays otherwise.
 */
void plan_group(struct plan *, const struct setting *);

/*
 * Bytes that a group may map: no more than the node with the least memory has, since all of it may
 * have to lie there.
 */
double plan_room(const struct setting *);
/*
 * Bytes of earlier allocations that may be held (struct quarantine) beside a group of so many
 * bytes: of what it leaves, at most a quarter of the room.
 */
double plan_held(const struct setting *, double bytes);
/*
 * Bytes of the largest allocation that is worth holding: one that is larger than the last cache has
 * lines in all of its sets, whichever frames it gets. INFINITY where that cache is unknown.
 */
double plan_held_each(const struct setting *);

#endif
