/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Overflow buckets of a home, which its owner has locked. A chain has no empty bucket, and there is
 * none while the home has a free slot. Once the home is unlocked the chain may change, so what is
 * taken off it is given back after that.
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

/* The home is full. False: there is no overflow bucket. Does not unlock. */
bool chain_insert(struct best_table *, struct best_bucket *home, uint64_t key, uint64_t value,
		  uint64_t hash);

/* Removes what is there, of a home with a chain, fills the home up from that, and unlocks it. */
void chain_remove(struct best_table *, struct best_bucket *home, uint64_t word, struct best_place);

/*
 * For readers, who have loaded the word of a home that is not locked. -1: it has changed meanwhile;
 * else whether the key is in the chain.
 */
int chain_look(struct best_table *, struct best_bucket *home, uint64_t word, uint64_t key,
	       uint64_t hash, uint64_t *value);

#endif
