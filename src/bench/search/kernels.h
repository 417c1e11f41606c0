/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is measured of search, beside the tree: searching in a sorted array, dealing keys to those
 * who search, grouping keys in place. Of each there is one for keys of either width; searches are
 * functions of their own, so that a test can read their machine code.
 */
#ifndef LOCUS_SEARCH_KERNELS_H
#define LOCUS_SEARCH_KERNELS_H

#include <stddef.h>
#include <stdint.h>

#include "bench/search/ranges.h"
#include "bench/search/ring.h"
#include "bench/search/stream.h"

/* answers[i]: first + how many of the n elements are less than keys[i] (lower_bound). */
typedef void search(const void *array, size_t n, uint32_t first, const void *keys, size_t count,
		    uint32_t *answers);

/*
 * Three ways at each step, less, greater or equal, as published; an equal element has others like
 * it to its left looked for, in log time too.
 */
search search_branchy_32, search_branchy_64;
/* The half is chosen by a conditional move: nothing to predict, and always as many steps. */
search search_branchless_32, search_branchless_64;

/*
 * How keys from a stream come to the searchers' rings. All of this is the dispatcher's own, but for
 * what is in the rings.
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

/* The stream's next packet, to whoever is next. */
typedef void deal(struct dealer *);
deal deal_in_turn;
/* ... each of its keys to the owner of its range. A packet is sent when it is full. */
deal deal_by_range_32, deal_by_range_64;
/* What is in packets that are not full is sent. */
void deal_rest(struct dealer *);

/*
 * Groups n keys by owner, in place: those of owner i are then keys[cut[i]] to keys[cut[i + 1] - 1].
 * Two passes, swaps only ("American flag sort", McIlroy, Bostic and McIlroy 1993). `next`: room for
 * as many numbers as there are owners.
 */
typedef void partition(void *keys, size_t n, const struct ranges *, uint32_t *cut, uint32_t *next);
partition partition_32, partition_64;

#endif
