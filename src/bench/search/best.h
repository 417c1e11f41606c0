/* SPDX-License-Identifier: Apache-2.0 */
/* Each thread looks up the keys of its own stream in a tree, packet after packet. */
#ifndef LOCUS_SEARCH_BEST_H
#define LOCUS_SEARCH_BEST_H

#include "bench/search/searcher.h"
#include "bench/search/stream.h"
#include "solve/tree/tree.h"

/*
 * Packets timed together: enough that reading the counter costs nothing beside them, since one
 * packet may take as little as 0.15 us; and no more than caches hold answers to.
 */
static inline uint32_t packets_timed(uint32_t packet)
{
	enum { KEYS_TIMED = 1 << 13 };

	return packet < KEYS_TIMED ? KEYS_TIMED / packet : 1;
}

/*
 * Looks up `packets` packets, in batches of a packet at most, as the other variants search them.
 * The searcher needs room for the answers to packets_timed().
 */
void best_search(struct searcher *, tree_search *, struct stream *, uint64_t packets);

#endif
