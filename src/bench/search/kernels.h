/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The measured kernels of search, except the tree: binary search, dealing keys to searchers, and
 * grouping keys, each for keys of 32 and 64 bits. Searches are separate functions, so that
 * a test can read their machine code.
 */
#ifndef LOCUS_SEARCH_KERNELS_H
#define LOCUS_SEARCH_KERNELS_H

#include <stddef.h>
#include <stdint.h>

#include "bench/search/recipe.h"
#include "bench/search/ring.h"

/* answers[i]: first + how many of the n elements are less than keys[i] (lower_bound). */
typedef void search(const void *array, size_t n, uint32_t first, const void *keys, size_t count,
		    uint32_t *answers);

/*
 * Each step branches three ways (less, greater, equal), as published. After an equal element it
 * searches on to the left, for the first equal one, in logarithmic time, too.
 */
search search_branchy_32, search_branchy_64;
/* A conditional move chooses the half: no prediction, and a fixed number of steps. */
search search_branchless_32, search_branchless_64;

/*
 * The dispatcher's state, for dealing keys from a stream to the searchers' rings. Only the rings
 * are shared.
 */
struct outlet {
	struct ring *ring;
	struct packet *open; /* being filled; NULL: none */
};

struct dealer {
	struct stream *stream;
	const struct ranges *ranges;
	unsigned outlets, next;
	struct outlet *outlet;
	uint64_t held; /* ticks in which a ring was full */
};

/* Deals the keys of the stream's next packet. In turn: the packet goes to the next searcher. */
typedef void deal(struct dealer *);
deal deal_in_turn;
/* By range: each key goes into the packet for the owner of its range; full packets are sent. */
deal deal_by_range_32, deal_by_range_64;
/* Sends the packets that are not full. */
void deal_rest(struct dealer *);

/*
 * Groups n keys by owner, in place: owner i gets keys[cut[i]] to keys[cut[i + 1] - 1]. Two passes
 * with swaps ("American flag sort", McIlroy, Bostic and McIlroy 1993). `next`: scratch, a number
 * for each owner.
 */
typedef void partition(void *keys, size_t n, const struct ranges *, uint32_t *cut, uint32_t *next);
partition partition_32, partition_64;

/*
 * To group keys by owner elsewhere, in two passes that look for each key's owner once. The first
 * notes it, and adds to count[owner]; the second copies keys[i] to the element of `to` that
 * next[owner[i]] says, which it advances.
 */
typedef void find_owners(const void *keys, size_t n, const struct ranges *, uint32_t *owner,
			 size_t *count);
find_owners find_owners_32, find_owners_64;
typedef void hand_out(const void *keys, size_t n, const uint32_t *owner, void *to, size_t *next);
hand_out hand_out_32, hand_out_64;

/* Loads, for each key, the element near its answer; no load waits for another. */
typedef void fetch(const void *array, size_t n, const void *keys, size_t count);
fetch fetch_32, fetch_64;

#endif
