/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The hash function: a 128-bit product with the seed, folded, then multiplied again, since the
 * highest bits choose the bucket. Only who knows the seed can choose keys of one bucket, and
 * they cost no more than a long chain.
 */
#ifndef LOCUS_HASHMAP_BEST_HASH_H
#define LOCUS_HASHMAP_BEST_HASH_H

#include <stdint.h>

#include "kit/random.h"

struct best_seed {
	uint64_t turn, times; /* xor-ed with the key; the multiplier, which is odd */
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
