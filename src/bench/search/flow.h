/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A dispatcher deals a stream of keys in packets to searchers, through a ring to each, until time
 * is up and all keys are answered.
 */
#ifndef LOCUS_SEARCH_FLOW_H
#define LOCUS_SEARCH_FLOW_H

#include <stdatomic.h>
#include <stdbool.h>

#include "bench/search/kernels.h"
#include "bench/search/searcher.h"

struct flow;

/* The next packet for a searcher, and its owner; NULL: none. Valid until the next call. */
typedef const struct packet *take(struct flow *, unsigned me, unsigned *owner);
/* From the searcher's own ring, as its only consumer. */
take take_own;
take take_any; /* from others' rings if its own is empty */

struct flow {
	unsigned searchers;
	search *search;
	take *take;
	deal *deal;
	const struct part *part; /* by owner */
	struct searcher *searcher;
	_Alignas(APART) struct dealer dealer;
	uint64_t began, ended;		     /* clock_ticks(), of this sample */
	_Alignas(APART) _Atomic bool closed; /* no more packets will come */
	/* searchers that have seen `closed`, and have answered all their packets */
	_Alignas(APART) _Atomic unsigned finished;
};

/* To be called before each sample. */
void flow_reset(struct flow *);
/*
 * The dispatcher: deals until *stop, then waits until all keys are answered. Returns how many
 * packets of the stream it dealt, at least one, so that no sample is empty.
 */
uint64_t flow_deal(struct flow *, const _Atomic bool *stop);
void flow_search(struct flow *, unsigned me);

#endif
