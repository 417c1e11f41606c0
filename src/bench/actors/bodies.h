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

/* Draws an index below `words`, and advances *random. */
static inline size_t bodies_place(uint64_t *random, size_t words)
{
	*random = *random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (size_t)((*random >> 32) * words >> 32);
}

/* For the nth message of an actor: reads and writes `touched` of the state's `words` words. */
static inline void bodies_walk(uint32_t *state, size_t words, uint64_t touched, uint64_t nth)
{
	uint64_t random = random_mix(nth + 1);

	for (uint64_t i = 0; i < touched; i++)
		state[bodies_place(&random, words)]++;
}

/* Whether the words add up to what `ran` messages added, modulo 2^32, since words have 32 bits. */
static inline bool bodies_walked(const uint32_t *state, size_t words, uint64_t touched,
				 uint64_t ran)
{
	uint32_t sum = 0;

	for (size_t i = 0; i < words; i++)
		sum += state[i];
	return sum == (uint32_t)(touched * ran);
}

/*
 * A map from numbers below `entries` to blocks from malloc(); open addressing, at most half full.
 */
struct bodies_thing {
	uint64_t key, stamp;
	char rest[32];
};

struct bodies_map {
	uint64_t entries, mask, puts, sum;
	struct bodies_thing *slot[];
};

size_t bodies_map_bytes(uint64_t entries);
size_t bodies_things_bytes(uint64_t entries); /* that malloc() takes for all entries */
/* Makes a map with all entries, in zeroed memory. False: out of memory. */
bool bodies_map_fill(struct bodies_map *, uint64_t entries);
void bodies_map_clear(struct bodies_map *);
/*
 * What a message does: replaces a random entry by a new one, and reads another. False: out of
 * memory.
 */
bool bodies_map_use(struct bodies_map *, uint64_t nth);
/*
 * Whether the map has each entry once, with a key below `entries`, and has counted a put for each
 * message.
 */
bool bodies_map_right(const struct bodies_map *, uint64_t ran);

#endif
