/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Overflow buckets of a home, which the caller has locked except for chain_look(). A chain has no
 * empty bucket, and is empty while the home has a free slot. A bucket that is taken off is given
 * back after the home is unlocked with a new version: readers that are in it then notice.
 */
#ifndef LOCUS_HASHMAP_BEST_CHAIN_H
#define LOCUS_HASHMAP_BEST_CHAIN_H

#include "bench/hashmap/best_table.h"

/* A slot in use; `bucket` NULL: the key is not there. */
struct best_place {
	struct best_bucket *bucket;
	size_t slot;
};

struct best_place chain_find(struct best_table *, struct best_bucket *home, uint64_t key,
			     uint64_t hash);

/* To be called if the home is full. False: no overflow bucket is left. Does not unlock. */
bool chain_insert(struct best_table *, struct best_bucket *home, uint64_t key, uint64_t value,
		  uint64_t hash);

/*
 * Removes the key from a home that has a chain, moves a key of the chain into the gap, and unlocks.
 */
void chain_remove(struct best_table *, struct best_bucket *home, uint64_t word, struct best_place);

/*
 * For readers that have loaded the word of an unlocked home. -1: it has changed meanwhile; else
 * whether the key is in the chain.
 */
int chain_look(struct best_table *, struct best_bucket *home, uint64_t word, uint64_t key,
	       uint64_t hash, uint64_t *value);

#endif
