/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A dispatcher deals a stream of keys to searchers, in packets, through a ring each, until time is
 * up and all are answered.
 */
#ifndef LOCUS_SEARCH_FLOW_H
#define LOCUS_SEARCH_FLOW_H

#include <stdatomic.h>
#include <stdbool.h>

#include "bench/search/kernels.h"
#include "bench/search/searcher.h"

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

#endif
