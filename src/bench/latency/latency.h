/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the parts of latency: parameters, values derived from them, and background threads. */
#ifndef LOCUS_LATENCY_H
#define LOCUS_LATENCY_H

#include <stdatomic.h>
#include <stdbool.h>

#include "bench/latency/chain.h"
#include "benchmark.h"

/* The parameters, and the choices of ELEMENT and STORES, in their order. */
enum { BYTES, PAGES, ELEMENT, STRIDE, CHAINS, LOADS, MIX, STORES, RATE, LOAD_BYTES, FROM, TO };
enum { POINTER, INT };
enum { STORES_NONTEMPORAL, STORES_CACHED };

/* The choices of MIX: lines read to lines written. */
#define MIX_CHOICES "read,3r1w,2r1w,1r1w,1r2w,1r3w,write"
enum { MIX_READ, MIX_3_1, MIX_2_1, MIX_1_1, MIX_1_2, MIX_1_3, MIX_WRITE };

/* Number of lines written, of 24. */
static inline unsigned mix_written(unsigned mix)
{
	static const unsigned written[] = {
		[MIX_READ] = 0, [MIX_3_1] = 6,	[MIX_2_1] = 8,	 [MIX_1_1] = 12,
		[MIX_1_2] = 16, [MIX_1_3] = 18, [MIX_WRITE] = 24
	};

	return written[mix];
}

/* The differences between variants. */
struct way {
	enum pattern pattern;
	bool loaded; /* other threads load memory meanwhile */
	bool placed; /* threads and memory are on chosen nodes */
};

static inline const struct way *way_of(const struct trial *t)
{
	return t->variant->data;
}

/* bytes of the largest working set; see struct parameter */
uint64_t beyond_caches(const struct machine *, enum profile);
/* GB/s, more than any node's bandwidth; see struct parameter */
uint64_t most_rate(const struct machine *, enum profile);
struct chain chain_of(const struct trial *);
/* bytes of each background thread's lines; depends on the memory available at the time */
size_t background_bytes(const struct trial *);
/* See struct benchmark. */
const char *latency_resolve(const struct trial *, union value *, uint64_t given);
struct needs latency_needs(const struct trial *);

/* ---- background threads: each streams through its own lines, at a set rate ---- */

/* Lines that are read and written in turn: a block. Divisible by the parts of all mixes. */
#define BACKGROUND_BLOCK 24

/* Blocks of a thread after which its load counts as running. */
enum { BACKGROUND_LEAD = 4 };

/* Shared by all threads of a trial. */
struct load {
	/* threads whose load runs in this sample */
	_Alignas(APART) _Atomic unsigned running;
	/* the clock has started: lines count from now on */
	_Alignas(APART) atomic_bool counted;
};

/* A stream of lines, repeatedly from the first to the last. */
struct stream {
	char *lines;
	size_t bytes, at; /* at: offset of the next line */
};

struct background {
	_Alignas(APART) struct stream reads, writes;
	size_t line;
	unsigned read, written; /* lines of a block */
	bool cached;		/* writes by ordinary stores */
	uint64_t pace, offset;	/* ticks of a block, and before the first one; pace 0: full rate */
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
/* Lines transferred by a block: a line written by ordinary stores is fetched, too. */
unsigned background_transfers(const struct background *);
/*
 * Streams until the time is up, at least one block, from where the last call stopped. A unit is a
 * line transferred after `counted` was set.
 */
void background_work(struct background *, struct worker *);
/* Streams at full rate for some ms; returns the median bandwidth (B/s). */
double background_flood(struct background *);

#endif
