/* SPDX-License-Identifier: Apache-2.0 */
/* Each thread looks up the keys of its own stream in a tree, packet after packet. */
#ifndef LOCUS_SEARCH_BEST_H
#define LOCUS_SEARCH_BEST_H

#include "bench/search/searcher.h"
#include "bench/search/tree.h"

/*
 * Packets looked up in one call: enough that the start and the end of a call, when few lines are in
 * flight, are negligible, and no more than fit into caches.
 */
static inline uint32_t packets_at_once(uint32_t packet)
{
	enum { KEYS_AT_ONCE = 1 << 13 };

	return packet < KEYS_AT_ONCE ? KEYS_AT_ONCE / packet : 1;
}

/* Looks up `packets` packets; the searcher needs room for the answers to packets_at_once(). */
void best_search(struct searcher *, const struct tree *, tree_search *, struct stream *,
		 uint64_t packets);

#endif
