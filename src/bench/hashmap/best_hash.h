/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The hash function: a product of 128 bits with the seed, folded, then multiplied once more, since
 * buckets are chosen by the highest bits. Who does not know the seed cannot choose keys of one
 * bucket; who does, gets a long chain and nothing worse.
 */
#ifndef LOCUS_HASHMAP_BEST_HASH_H
#define LOCUS_HASHMAP_BEST_HASH_H

#include <stdint.h>

#include "kit/random.h"

struct best_seed {
	uint64_t turn, times; /* the second is odd */
};

static inline struct best_seed best_seed_of(uint64_t seed)
{
	return (struct best_seed){ random_word(seed, 0), random_word(seed, 1) | 1 };
}

static inline uint64_t best_hash(struct best_seed seed, uint64_t key)
{
	const unsigned __int128 product = (unsigned __int128)(key ^ seed.turn) * seed.times;

	return ((uint64_t)product ^ (uint64_t)(product >> 64)) * RANDOM_GOLDEN;
}

#endif
