/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which tables there are, who uses them, and when they are given back.
 *
 * A map has a current table, and while it is moved that one's next. Before a thread reads a table
 * it names it in its handle; a table that was replaced is given back when no handle names it. The
 * name stays after the operation: as long as its table is used, an operation pays nothing for it.
 * So a handle, held in mid-read or just idle, keeps at most the two tables that it names.
 *
 * Naming and replacing are sequentially consistent: a thread names a table and then looks whether
 * it is still in use; who replaces a table does so first, and then looks at the names. One of them
 * sees the other (Michael 2004, hazard pointers).
 */
#ifndef LOCUS_HASHMAP_BEST_TABLES_H
#define LOCUS_HASHMAP_BEST_TABLES_H

#include "bench/hashmap/best_costs.h"
#include "bench/hashmap/best_hash.h"
#include "bench/hashmap/best_table.h"

struct best_handle {
	_Alignas(APART) struct best_map *map;
	struct best_table *table; /* that named last as the current one; or map->none */
	struct best_seed seed;
	_Atomic long pending; /* keys inserted less removed, that the map has not counted yet */
	struct best_table *_Atomic name[2];
	_Atomic bool taken;
	struct best_handle *next;
	struct best_costs costs;
};

struct best_map {
	struct best_table *_Atomic current;
	/*
	 * Of a single bucket, which has been moved: who has no table begins there, as in one that
	 * was replaced, and finds that there is another one.
	 */
	struct best_table none;
	struct best_bucket moved;
	struct best_memory memory;
	struct best_seed seed;
	size_t least; /* homes */
	struct best_handle *_Atomic handles;
	_Alignas(APART) _Atomic long keys;		    /* but for what is pending */
	_Alignas(APART) struct best_table *_Atomic waiting; /* replaced, to be given back */
	_Atomic size_t bytes;
	_Atomic bool beginning; /* one thread is about to set a table's next */
};

/* The current table moved on: names that one, and leaves the others. */
struct best_table *tables_renew(struct best_handle *);

/*
 * The table in which an operation begins, if h->table may be an older one. What has been moved from
 * that says so, so an operation first looks there, and loads nothing that others write.
 */
static inline struct best_table *tables_enter(struct best_handle *h)
{
	struct best_table *t = atomic_load_explicit(&h->map->current, memory_order_acquire);

	return __builtin_expect(t == h->table, 1) ? t : tables_renew(h);
}

/*
 * The next of table `t`, which this handle has named, and which has a next. NULL: it is too late,
 * begin anew.
 */
struct best_table *tables_follow(struct best_handle *, struct best_table *t);

/* Everything was moved from `t` to its next. */
void tables_replace(struct best_handle *, struct best_table *t);

/* Names no table. */
void tables_leave(struct best_handle *);

/* Gives back what nobody names. */
void tables_give_back(struct best_map *);

/* NULL with errno. Also counts the bytes. */
struct best_table *tables_open(struct best_map *, size_t homes, size_t reserved, size_t overflow);
void tables_close(struct best_map *, struct best_table *);

#endif
