/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a message does with the state of its actor: `walk` adds 1 to some of its words, in random
 * order; `real` is an allocation, and a put and a get in a hash map.
 */
#ifndef LOCUS_BODIES_H
#define LOCUS_BODIES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kit/random.h"

/* Word i of a message that is the nth of its actor. */
static inline size_t bodies_place(uint64_t *random, size_t words)
{
	*random = *random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (size_t)((*random >> 32) * words >> 32);
}

/* `touched` of `words` words, each read and written. */
static inline void bodies_walk(uint32_t *state, size_t words, uint64_t touched, uint64_t nth)
{
	uint64_t random = random_mix(nth + 1);

	for (uint64_t i = 0; i < touched; i++)
		state[bodies_place(&random, words)]++;
}

/* After `ran` messages the words add up to what they touched; to 32 bits, as words count. */
static inline bool bodies_walked(const uint32_t *state, size_t words, uint64_t touched,
				 uint64_t ran)
{
	uint32_t sum = 0;

	for (size_t i = 0; i < words; i++)
		sum += state[i];
	return sum == (uint32_t)(touched * ran);
}

/* A map from numbers below `entries` to what malloc() gave; open addressing, at most half full. */
struct bodies_thing {
	uint64_t key, stamp;
	char rest[32];
};

struct bodies_map {
	uint64_t entries, mask, puts, sum;
	struct bodies_thing *slot[];
};

size_t bodies_map_bytes(uint64_t entries);
size_t bodies_things_bytes(uint64_t entries); /* what malloc() takes for all of them */
/* In zeroed memory: with all entries. False: no memory. */
bool bodies_map_fill(struct bodies_map *, uint64_t entries);
void bodies_map_clear(struct bodies_map *);
/* A message: puts a new thing in the place of one, and gets another one. */
bool bodies_map_use(struct bodies_map *, uint64_t nth);
/* Each entry once, with its own key; and as many puts as messages. */
bool bodies_map_right(const struct bodies_map *, uint64_t ran);

#endif
