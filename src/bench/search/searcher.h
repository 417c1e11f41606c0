/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A searcher: the array that it searches, its answers, and its times. It reads its CPU's counter
 * around each search, because the result is the time of searching alone, and the harness times the
 * whole sample.
 */
#ifndef LOCUS_SEARCH_SEARCHER_H
#define LOCUS_SEARCH_SEARCHER_H

#include <stdbool.h>

#include "bench/search/kernels.h"
#include "kit/histogram.h"

/* The part of the array that a searcher searches. */
struct part {
	const void *array;
	size_t n;
	uint32_t first;
};

/* What a searcher did in a sample, in ticks of its CPU's counter. */
struct timesheet {
	uint64_t began, ended;			   /* clock_ticks() */
	uint64_t searching, waiting, partitioning; /* ticks */
	uint64_t keys, packets;			   /* packets: whole ones */
	double ticks, squares;			   /* sums of whole packets' times, and squares */
};

struct tree;
struct searcher {
	_Alignas(APART) struct timesheet timesheet;
	struct histogram *times; /* ticks of whole packets of this sample; NULL: not wanted */
	const struct tree *tree; /* best: on the searcher's node */
	struct ring *ring;
	bool holding;	     /* the ring's first packet is being searched */
	struct packet *copy; /* for a packet from a ring of several consumers */
	uint32_t *answers;   /* to the last packet's keys */
	const void *last;    /* the last packet's keys; NULL: none */
	size_t last_keys;
	/* answers in all samples since the start: how many, and their sum */
	uint64_t keys, sum;
	double fetched; /* best: key/s, see limit_of_memory() */
};

/* Begins a sample: returns clock_ticks(). */
uint64_t searcher_begin(struct searcher *);

/*
 * Records n answered keys, which must stay in memory, and the ticks taken; if they are a whole
 * packet, also as a packet's time. A call, so that the compiler does not move its work before the
 * reading of the counter.
 */
void searcher_note(struct searcher *, const void *keys, size_t n, uint32_t packet, uint64_t ticks);

/*
 * Of the times of all whole packets of n searchers, in s: the 99th percentile and the standard
 * deviation; NAN: there are no packets. A tick of searcher i takes s_per_tick[i]. `all` is
 * overwritten by these times.
 */
struct packet_times {
	double p99, deviation;
};
struct packet_times packet_times(const struct searcher *, const double *s_per_tick, unsigned n,
				 struct histogram *all);

#endif
