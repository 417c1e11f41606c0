/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A searcher: the array that it searches, its answers, and its times. It reads its CPU's counter
 * around each search, because the result is the time of searching alone, and the harness times the
 * whole.
 */
#ifndef LOCUS_SEARCH_SEARCHER_H
#define LOCUS_SEARCH_SEARCHER_H

#include <stdbool.h>

#include "bench/search/kernels.h"
#include "bench/search/timesheet.h"

/* The part of the array that a searcher searches. */
struct part {
	const void *array;
	size_t n;
	uint32_t first;
};

struct searcher {
	_Alignas(APART) struct timesheet timesheet;
	struct ring *ring;
	bool holding;	     /* the ring's first packet is being searched */
	struct packet *copy; /* for a packet from a ring of several consumers */
	uint32_t *answers;   /* of the last packet */
	const void *last;    /* its keys; NULL: none */
	size_t last_keys;
	/* of all samples since the start: how many answers, and their sum */
	uint64_t keys, sum;
};

/*
 * Records n answered keys, which must stay in memory, and the ticks taken; if they are a whole
 * packet, also as a packet's time. A call, so that the compiler does not move its work before the
 * reading of the counter.
 */
void searcher_note(struct searcher *, const void *keys, size_t n, uint32_t packet, uint64_t ticks);

#endif
