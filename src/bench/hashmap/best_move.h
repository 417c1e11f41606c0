/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Moves a table to its next one, with twice the homes, half of them, or as many and more overflow
 * buckets. Each writer moves some buckets before its own operation, so nobody waits for all of
 * them.
 */
#ifndef LOCUS_HASHMAP_BEST_MOVE_H
#define LOCUS_HASHMAP_BEST_MOVE_H

#include "bench/hashmap/best_tables.h"

/*
 * The table doubles above MOVE_MOST_KEYS keys per home, and halves above MOVE_MOST_HOMES homes per
 * key. It has one overflow bucket for MOVE_HOMES_OF_OVERFLOW homes: with three keys per home on
 * average, of the seven that fit, one home in 84 overflows.
 */
enum { MOVE_MOST_KEYS = 3, MOVE_MOST_HOMES = 2, MOVE_HOMES_OF_OVERFLOW = 8 };

/*
 * Moves some buckets of `t`, if it has a next; whoever moves the last one replaces the table. The
 * handle may have dropped its name of `t` when this returns.
 */
void move_some(struct best_handle *, struct best_table *t);

/*
 * To be called if table `t`, which the handle has named, lacks an overflow bucket for a key of this
 * hash. Makes room where it can; the operation has to start again. False: no memory.
 */
bool move_make_room(struct best_handle *, struct best_table *t, uint64_t hash);

/* Adds the handle's pending keys to the map's count, and begins to grow or shrink the table. */
void move_count(struct best_handle *);

#endif
