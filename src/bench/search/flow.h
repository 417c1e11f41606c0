/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Keys on their way: a dispatcher deals a stream to searchers, in packets, through a ring each; or
 * all threads group keys by owner and search their ranges; or each searches keys of its own.
 *
 * Searchers read their CPU's counter before and after each packet: the time of the search alone is
 * the result, and the harness can see the whole only.
 */
#ifndef LOCUS_SEARCH_FLOW_H
#define LOCUS_SEARCH_FLOW_H

#include <stdatomic.h>
#include <stdbool.h>

#include "bench/search/kernels.h"
#include "bench/search/tally.h"
#include "bench/search/tree.h"

/* Where a searcher looks. */
struct part {
	const void *array;
	size_t n;
	uint32_t first;
};

struct searcher {
	_Alignas(APART) struct tally tally;
	struct ring *ring;
	bool holding;	     /* the ring's first packet is being searched */
	struct packet *copy; /* of what was taken from a ring of several consumers */
	uint32_t *answers;   /* of the last packet */
	const void *last;    /* its keys; NULL: there was none */
	size_t last_keys;
	/* of all samples since the start: how many answers, and their sum */
	uint64_t keys, sum;
};

struct flow;

/*
 * The next packet for a searcher, and whose it is; NULL: none is there. It stays as it is until the
 * next call.
 */
typedef const struct packet *take(struct flow *, unsigned me, unsigned *owner);
/* from the searcher's own ring, which is nobody else's */
take take_own;
take take_any; /* ... from others', where that is empty */

struct flow {
	unsigned searchers;
	search *search;
	take *take;
	deal *deal;
	const struct part *part; /* by owner */
	struct searcher *searcher;
	_Alignas(APART) struct dealer dealer;
	uint64_t began, ended;		     /* the counter, in this sample */
	_Alignas(APART) _Atomic bool closed; /* no packet will come */
	/* searchers that know it, and have searched all */
	_Alignas(APART) _Atomic unsigned finished;
};

/* Before each sample. */
void flow_reset(struct flow *);
/*
 * The dispatcher: until *stop, then until all is searched. A packet at least, so that no sample is
 * empty; it returns how many of the stream's.
 */
uint64_t flow_deal(struct flow *, const _Atomic bool *stop);
void flow_search(struct flow *, unsigned me);

/* Searches keys that lie in memory, packet by packet; the last one may be smaller. */
void search_block(struct searcher *, search *, const struct part *, unsigned width, uint32_t packet,
		  const unsigned char *keys, size_t n);
/*
 * Packets that a tree is searched for at once: so many that the ends of a call, where no line is on
 * its way, are little, and no more than caches hold.
 */
static inline uint32_t packets_at_once(uint32_t packet)
{
	enum { KEYS_AT_ONCE = 1 << 13 };

	return packet < KEYS_AT_ONCE ? KEYS_AT_ONCE / packet : 1;
}

/*
 * Searches so many packets of a stream in a tree; there is room for the answers to
 * packets_at_once().
 */
void search_tree(struct searcher *, const struct tree *, tree_search *, struct stream *,
		 uint64_t packets);

/*
 * Notes what has been answered: keys that are still where they were, in so many ticks; a packet's
 * time where they are one.
 */
void searcher_note(struct searcher *, const void *keys, size_t n, uint32_t packet, uint64_t ticks);

#endif
