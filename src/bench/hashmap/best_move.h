/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From a table to its next one, of twice the homes, half of them, or as many with more overflow
 * buckets. Each writer moves some buckets before its own operation, so nobody waits for the whole.
 */
#ifndef LOCUS_HASHMAP_BEST_MOVE_H
#define LOCUS_HASHMAP_BEST_MOVE_H

#include "bench/hashmap/best_tables.h"

/*
 * Mean keys of a home above which the table doubles, homes of a key above which it halves, and
 * homes for an overflow bucket: of homes with three keys of seven on average, one in 84 has more.
 */
enum { MOVE_MOST_KEYS = 3, MOVE_MOST_HOMES = 2, MOVE_HOMES_OF_OVERFLOW = 8 };

/*
 * Moves some buckets of `t`, if it has a next; who moves the last one replaces the table. The
 * handle may have left `t` then.
 */
void move_some(struct best_handle *, struct best_table *t);

/*
 * The handle has named table `t`, which has no overflow bucket left for a key of this hash: does
 * what it can that there will be one when the operation begins anew, as it has to. False: there is
 * no memory.
 */
bool move_make_room(struct best_handle *, struct best_table *t, uint64_t hash);

/* Has the map count the handle's pending keys, and fits the table to the number. */
void move_count(struct best_handle *);

#endif
