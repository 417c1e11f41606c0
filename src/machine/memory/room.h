/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether all that is claimed, or bound, has room on the nodes where it is to lie, beside what was
 * there when the arena was opened. To be asked before the first touch: a policy that allows no
 * other node would have the process killed, and first touch would fall to another node.
 */
#ifndef LOCUS_ROOM_H
#define LOCUS_ROOM_H

#include <stdint.h>

struct arena;

/*
 * Bytes, two numbers for each of the machine's nodes, which ranks of one machine add up. Reserved
 * huge pages are not among them.
 */
void arena_need(const struct arena *, int64_t *need);
/* Whether there is room for such a need. -1 with errno ENOMEM and arena_refusal(). */
int arena_room(struct arena *, const int64_t *need);
/* Both, for what this process alone touches while a trial is prepared. */
int arena_has_room(struct arena *);

#endif
