/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A table: home buckets in the order of the hash, then overflow buckets. Writers take overflow
 * buckets and give them back without a lock. A bucket stays in its table.
 *
 * A table that is being moved is closed: no overflow bucket is taken any more, so the most that the
 * next table can need is known, and reserved there. So moving cannot run out of memory.
 *
 * Overflow buckets of a home are its chain. It has no empty bucket, and is empty while the home has
 * a free slot. A bucket that is taken off is given back after the home is unlocked with a new
 * version: readers that are in it then notice.
 */
#ifndef LOCUS_SOLVE_MAP_TABLE_H
#define LOCUS_SOLVE_MAP_TABLE_H

#include "solve/map/bucket.h"
#include "solve/map/cmap.h"
#include "base/apart.h"
#include "kit/random.h"

/*
 * The hash function: a 128-bit product with the seed, folded, then multiplied again, since the
 * highest bits choose the bucket. Only who knows the seed can choose keys of one bucket; such keys
 * make a long chain, and nothing worse.
 */

struct table_seed {
	uint64_t turn, times; /* xor-ed with the key; the multiplier, which is odd */
};

static inline struct table_seed table_seed_of(uint64_t seed)
{
	return (struct table_seed){ random_word(seed, 0), random_word(seed, 1) | 1 };
}

static inline uint64_t table_hash(struct table_seed seed, uint64_t key)
{
	const unsigned __int128 product = (unsigned __int128)(key ^ seed.turn) * seed.times;

	return ((uint64_t)product ^ (uint64_t)(product >> 64)) * RANDOM_GOLDEN;
}

enum { TABLE_HUGE_PAGE = 2 << 20 };

struct table {
	struct bucket *bucket; /* homes, reserve, others */
	size_t homes, reserved, buckets;
	struct table *_Atomic next;
	/* nothing more is moved to this table: the rest of the reserve is free */
	_Atomic bool settled;
	struct table *waiting; /* the next table in the list of those that wait to be freed */
	/* Overflow buckets: */
	/* number of overflow buckets in use; the highest bit: closed */
	_Alignas(APART) _Atomic uint64_t in_use;
	/* index of the first free one (low half), number of changes (high half) */
	_Atomic uint64_t free;
	_Atomic uint32_t fresh, fresh_reserved; /* the next bucket never used */
	/* Units (tables.c) that threads have claimed; that they have moved to the next table: */
	_Alignas(APART) _Atomic size_t claimed;
	_Atomic size_t moved;
};

/* NULL with errno. */
struct table *table_new(const struct cmap_memory *, size_t homes, size_t reserved, size_t overflow);
void table_free(const struct cmap_memory *, struct table *);
size_t table_bytes(const struct table *);
/* Bytes of a table with so many buckets, homes included. */
size_t table_bytes_of(size_t buckets);

/*
 * Takes an overflow bucket with empty slots from the reserve, for a thread that moves buckets here.
 * Returns its index.
 */
uint32_t table_take_reserved(struct table *);

/* Closes the table, and returns how many overflow buckets it has in use. */
size_t table_shut(struct table *);
void table_reopen(struct table *);

/* The home of a hash: homes have equal ranges of hashes, in order. */
static inline size_t table_index(const struct table *t, uint64_t hash)
{
	return (size_t)((unsigned __int128)hash * t->homes >> 64);
}

static inline struct bucket *table_home(const struct table *t, uint64_t hash)
{
	return &t->bucket[table_index(t, hash)];
}

/* The least hash of a home; 0 for the index after the last. */
static inline uint64_t table_from(const struct table *t, size_t index)
{
	return (uint64_t)((((unsigned __int128)index << 64) + t->homes - 1) / t->homes);
}

/* Chains. The caller has locked the home, except for table_chain_look(). */

/* A used slot; `bucket` NULL: the key is not there. */
struct table_place {
	struct bucket *bucket;
	size_t slot;
};

struct table_place table_chain_find(struct table *, struct bucket *home, uint64_t key,
				    uint64_t hash);

/* To be called if the home is full. False: no overflow bucket is left. Does not unlock. */
bool table_chain_insert(struct table *, struct bucket *home, uint64_t key, uint64_t value,
			uint64_t hash);

/*
 * Removes the key from a home that has a chain, moves a key of the chain into the gap, and unlocks.
 */
void table_chain_remove(struct table *, struct bucket *home, uint64_t word, struct table_place);

/*
 * For readers that have loaded the word of an unlocked home. -1: it has changed meanwhile; else
 * whether the key is in the chain.
 */
int table_chain_look(struct table *, struct bucket *home, uint64_t word, uint64_t key,
		     uint64_t hash, uint64_t *value);

#endif
