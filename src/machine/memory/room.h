/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether the nodes have room for the memory claimed for, or bound to, them, by what was available
 * when the arena was opened. To be asked before the first touch: without room, bound memory would
 * get the process killed, and first touch would fall back to another node.
 */
#ifndef LOCUS_ROOM_H
#define LOCUS_ROOM_H

#include <stdint.h>

struct arena;

/*
 * Sets `need` to two numbers of bytes for each of the machine's nodes, for first touch and for
 * binding policies, which the ranks of a host add up. Reserved huge pages are not included.
 */
void arena_need(const struct arena *, int64_t *need);
/* Whether there is room for such a need. -1 with errno ENOMEM and arena_refusal(). */
int arena_room(struct arena *, const int64_t *need);
/*
 * arena_need() and arena_room(), for memory that this process alone touches while a trial is
 * prepared.
 */
int arena_has_room(struct arena *);

#endif
