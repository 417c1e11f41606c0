/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A table: home buckets in the order of the hash, then overflow buckets. Writers take overflow
 * buckets and give them back without a lock. A bucket stays in its table.
 *
 * A table that is being moved is closed: no overflow bucket is taken any more, so the most that the
 * next table can need is known, and reserved there. So moving cannot run out of memory.
 */
#ifndef LOCUS_HASHMAP_BEST_TABLE_H
#define LOCUS_HASHMAP_BEST_TABLE_H

#include "bench/hashmap/best_bucket.h"
#include "bench/hashmap/best_memory.h"
#include "base/apart.h"

struct best_table {
	struct best_bucket *bucket; /* homes, reserve, others */
	size_t homes, reserved, buckets;
	struct best_table *_Atomic next;
	_Atomic bool settled; /* nothing more is moved here: the rest of the reserve is free */
	struct best_table *waiting; /* the next table in the list that waits to be given back */
	/* Overflow buckets: */
	_Alignas(APART) _Atomic uint64_t in_use; /* how many; the highest bit: closed */
	_Atomic uint64_t free; /* index of the first (low half), how often it changed (high half) */
	_Atomic uint32_t fresh, fresh_reserved; /* the next bucket never used */
	/* Units (best_move.c) that threads have claimed, and moved to the next table: */
	_Alignas(APART) _Atomic size_t claimed;
	_Atomic size_t moved;
};

/* NULL with errno. */
struct best_table *table_new(const struct best_memory *, size_t homes, size_t reserved,
			     size_t overflow);
void table_free(const struct best_memory *, struct best_table *);
size_t table_bytes(const struct best_table *);
/* Bytes of a table with so many buckets, homes included. */
size_t table_bytes_of(size_t buckets);

/* Index of an overflow bucket with empty slots; 0: none is left, or the table is closed. */
uint32_t table_take(struct best_table *);
void table_give(struct best_table *, uint32_t bucket);
/* The same from the reserve, for a thread that moves buckets here. */
uint32_t table_take_reserved(struct best_table *);

/* Closes it, and returns how many overflow buckets it has in use. */
size_t table_shut(struct best_table *);
void table_reopen(struct best_table *);

/* The home of a hash: homes have equal ranges of hashes, in order. */
static inline size_t table_index(const struct best_table *t, uint64_t hash)
{
	return (size_t)((unsigned __int128)hash * t->homes >> 64);
}

static inline struct best_bucket *table_home(const struct best_table *t, uint64_t hash)
{
	return &t->bucket[table_index(t, hash)];
}

/* The least hash of a home; 0 for the index after the last. */
static inline uint64_t table_from(const struct best_table *t, size_t index)
{
	return (uint64_t)((((unsigned __int128)index << 64) + t->homes - 1) / t->homes);
}

#endif
