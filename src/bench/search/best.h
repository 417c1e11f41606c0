/* SPDX-License-Identifier: Apache-2.0 */
/* Each thread searches a tree for keys of its own, the packets of a stream one after the other. */
#ifndef LOCUS_SEARCH_BEST_H
#define LOCUS_SEARCH_BEST_H

#include "bench/search/searcher.h"
#include "bench/search/tree.h"

/*
 * Packets that a tree is searched for at once: so many that the ends of a call, where no line is on
 * its way, are little, and no more than caches hold.
 */
static inline uint32_t packets_at_once(uint32_t packet)
{
	enum { KEYS_AT_ONCE = 1 << 13 };

	return packet < KEYS_AT_ONCE ? KEYS_AT_ONCE / packet : 1;
}

/* So many packets; the searcher has room for the answers to packets_at_once(). */
void best_search(struct searcher *, const struct tree *, tree_search *, struct stream *,
		 uint64_t packets);

#endif
