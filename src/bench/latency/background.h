/* SPDX-License-Identifier: Apache-2.0 */
/* The background threads: each streams through its own lines, at a set rate. */
#ifndef LOCUS_LATENCY_BACKGROUND_H
#define LOCUS_LATENCY_BACKGROUND_H

#include <stdatomic.h>

#include "bench/latency/parameters.h"

/* Lines that are read and written in turn: a block. Divisible by the parts of all mixes. */
#define BACKGROUND_BLOCK 24

/* Blocks of a thread after which its load counts as running. */
enum { BACKGROUND_LEAD = 4 };

/* What all threads of a trial share. */
struct load {
	/* threads whose load runs in this sample */
	_Alignas(APART) _Atomic unsigned running;
	/* the clock has started: from now on lines count */
	_Alignas(APART) atomic_bool counted;
};

/* A stream of lines, from the first to the last and again. */
struct stream {
	char *lines;
	size_t bytes, at; /* at: offset of the next line */
};

struct background {
	_Alignas(APART) struct stream reads, writes;
	size_t line;
	unsigned read, written; /* lines of a block */
	bool cached;		/* writes by ordinary stores */
	uint64_t pace, offset;	/* ticks a block, of the first block; pace 0: full rate */
	double alone;		/* B/s at full rate, without the chase */
	struct load *load;
};

/*
 * Maps the lines of a worker on this node, untouched. -1 with errno as region_map() and
 * region_bind().
 */
int background_map(struct background *, const struct trial *, unsigned worker, size_t bytes,
		   int node);
/* Touches all pages; run by the worker. */
void background_touch(const struct background *, size_t page);
/* Lines that a block transfers: a line written by ordinary stores is fetched, too. */
unsigned background_transfers(const struct background *);
/*
 * Streams until the time is up, at least one block, going on where the last call stopped. Units are
 * the lines transferred since the load counts.
 */
void background_work(struct background *, struct worker *);
/* Streams at full rate for some ms; returns the median bandwidth (B/s). */
double background_flood(struct background *);

#endif
