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
#ifndef LOCUS_HASHMAP_BEST_TABLES_H
#define LOCUS_HASHMAP_BEST_TABLES_H

#include "bench/hashmap/best_costs.h"
#include "bench/hashmap/best_hash.h"
#include "bench/hashmap/best_table.h"

struct best_handle {
	_Alignas(APART) struct best_map *map;
	struct best_table *table; /* the table named last as current; or map->none */
	struct best_seed seed;
	_Atomic long pending; /* keys inserted less those removed, not yet counted by the map */
	struct best_table *_Atomic name[2];
	_Atomic bool taken;
	struct best_handle *next;
	struct best_costs costs;
};

struct best_map {
	struct best_table *_Atomic current;
	/*
	 * A table of a single bucket that has been moved: a thread without a table starts here, and
	 * is sent on to the current one.
	 */
	struct best_table none;
	struct best_bucket moved;
	struct best_memory memory;
	struct best_seed seed;
	size_t least; /* homes */
	struct best_handle *_Atomic handles;
	_Alignas(APART) _Atomic long keys;		    /* without those pending in handles */
	_Alignas(APART) struct best_table *_Atomic waiting; /* replaced, to be given back */
	_Atomic size_t bytes;
	_Atomic bool beginning; /* a thread is about to set a table's next */
};

/* Names the current table, and drops the others. */
struct best_table *tables_renew(struct best_handle *);

/*
 * The current table, which the handle names from then on. An operation can start in h->table
 * instead, and so without a load of map->current: if that table is an older one, its buckets say
 * that they have been moved.
 */
static inline struct best_table *tables_enter(struct best_handle *h)
{
	struct best_table *t = atomic_load_explicit(&h->map->current, memory_order_acquire);

	return __builtin_expect(t == h->table, 1) ? t : tables_renew(h);
}

/*
 * Names and returns the next table of `t`, which has one and is named by this handle. NULL: too
 * late, start again.
 */
struct best_table *tables_follow(struct best_handle *, struct best_table *t);

/* To be called when all of `t` has been moved: makes its next table the current one. */
void tables_replace(struct best_handle *, struct best_table *t);

/* Drops all names. */
void tables_leave(struct best_handle *);

/* Gives back the tables that nobody names. */
void tables_give_back(struct best_map *);

/* NULL with errno. Also counts the bytes. */
struct best_table *tables_open(struct best_map *, size_t homes, size_t reserved, size_t overflow);
void tables_close(struct best_map *, struct best_table *);

#endif
