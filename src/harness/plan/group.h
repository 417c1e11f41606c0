/* SPDX-License-Identifier: Apache-2.0 */
/* Which trials are sampled in turn: a group is what is compared, as far as memory has room. */
#ifndef LOCUS_GROUP_H
#define LOCUS_GROUP_H

#include "harness/plan/planned.h"

/*
 * Groups the trials; again where some were refused, or the room was found to be another. Those of a
 * group come after each other, and otherwise in the order in which they were.
 */
void plan_group(struct plan *, const struct setting *);

/*
 * Bytes that a group may hold: where there are several nodes, no more than the least of them has,
 * for all of it may have to lie there.
 */
double plan_room(const struct setting *);

#endif
