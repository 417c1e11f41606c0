/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A searcher: where it looks, what it answered, and what that took. It reads its CPU's counter
 * before and after each search: the time of the search alone is the result, and the harness sees
 * only the whole.
 */
#ifndef LOCUS_SEARCH_SEARCHER_H
#define LOCUS_SEARCH_SEARCHER_H

#include <stdbool.h>

#include "bench/search/kernels.h"
#include "bench/search/tally.h"

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

/*
 * Notes what has been answered: keys that are still where they were, in so many ticks; a packet's
 * time where they are one. A call, so that a compiler cannot move what is noted in front of the
 * counter that was read before it.
 */
void searcher_note(struct searcher *, const void *keys, size_t n, uint32_t packet, uint64_t ticks);

#endif
