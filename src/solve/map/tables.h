/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tables of a map: who uses them, and when they are given back.
 *
 * A map has a current table and, while that is being moved, its next one. A thread names a table
 * in its handle before it reads it; a replaced table is given back when no handle names it. Names
 * outlive the operation, so operations pay for a name only when the table changes. A handle keeps
 * at most two tables: those that it names, whether its thread is in a read or idle.
 *
 * Naming and replacing are sequentially consistent: a thread names a table, then checks that it is
 * still in use; another replaces the table, then checks the names. One of them sees the other
 * (hazard pointers, Michael 2004).
 */
#ifndef LOCUS_SOLVE_MAP_TABLES_H
#define LOCUS_SOLVE_MAP_TABLES_H

#include "solve/map/table.h"

struct cmap_handle {
	_Alignas(APART) struct cmap *map;
	struct table *table; /* the table last named as current; or map->none */
	struct table_seed seed;
	_Atomic long pending; /* keys inserted minus keys removed, not yet counted by the map */
	struct table *_Atomic name[2];
	_Atomic bool taken;
	struct cmap_handle *next;
	struct cmap_costs costs;
};

struct cmap {
	struct table *_Atomic current;
	/*
	 * A table of a single bucket that has been moved: a thread without a table starts here, and
	 * is sent on to the current one.
	 */
	struct table none;
	struct bucket moved;
	struct cmap_memory memory;
	struct table_seed seed;
	size_t least; /* homes */
	struct cmap_handle *_Atomic handles;
	_Alignas(APART) _Atomic long keys;	       /* without the pending ones in handles */
	_Alignas(APART) struct table *_Atomic waiting; /* tables that were replaced, to be freed */
	_Atomic size_t bytes;
	_Atomic bool beginning; /* a thread is about to set a table's next one */
};

/* Names the current table, and drops the others. */
struct table *tables_renew(struct cmap_handle *);

/*
 * The current table, which the handle names from then on. An operation can start in h->table
 * instead, without a load of map->current: if that table is an older one, its buckets say that they
 * have been moved.
 */
static inline struct table *tables_enter(struct cmap_handle *h)
{
	struct table *t = atomic_load_explicit(&h->map->current, memory_order_acquire);

	return __builtin_expect(t == h->table, 1) ? t : tables_renew(h);
}

/*
 * Names and returns the next table of `t`, which has one and is named by this handle. NULL: too
 * late, start again.
 */
struct table *tables_follow(struct cmap_handle *, struct table *t);

/* Drops all names. */
void tables_leave(struct cmap_handle *);

/* Frees the tables that no handle names. */
void tables_give_back(struct cmap *);

/* NULL with errno. Also counts the bytes. */
struct table *tables_open(struct cmap *, size_t homes, size_t reserved, size_t overflow);
void tables_close(struct cmap *, struct table *);

/*
 * Growth: a table is moved to its next one, with twice the homes, half the homes, or the same homes
 * and more overflow buckets. Each writer moves some buckets before its own operation, so nobody
 * waits for all of them.
 *
 * The table doubles above TABLES_MOST_KEYS keys per home, and halves above TABLES_MOST_HOMES homes
 * per key. It has one overflow bucket for TABLES_HOMES_OF_OVERFLOW homes: with three keys per home
 * on average, of the seven that fit, one home in 84 overflows.
 */
enum { TABLES_MOST_KEYS = 3, TABLES_MOST_HOMES = 2, TABLES_HOMES_OF_OVERFLOW = 8 };

/*
 * Moves some buckets of `t`, if it has a next table; the thread that moves the last one replaces
 * the table. The handle may have dropped its name of `t` when this returns.
 */
void tables_move(struct cmap_handle *, struct table *t);

/*
 * To be called if table `t`, which the handle has named, lacks an overflow bucket for a key with
 * this hash. Makes room if it can; the operation must start again. False: no memory.
 */
bool tables_make_room(struct cmap_handle *, struct table *t, uint64_t hash);

/* Adds the handle's pending keys to the map's count, and begins to grow or shrink the table. */
void tables_count(struct cmap_handle *);

#endif
