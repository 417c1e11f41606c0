/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the parts of the benchmark: parameters, values derived from them, and the state. */
#ifndef LOCUS_HASHMAP_H
#define LOCUS_HASHMAP_H

#include "bench/hashmap/map.h"
#include "bench/hashmap/mix.h"
#include "benchmark.h"
#include "kit/histogram.h"
#include "trial.h"

/* The parameters, as indices of a trial's values. */
enum {
	OPERATIONS,
	MIX,
	READS,
	TURNOVER,
	RANGE,
	KEYS,
	SKEW,
	VALUE,
	READERS,
	LOAD,
	STRIPES,
	PADDED,
	LOCK_BYTES,
	PADDING,
	RECLAIM,
	PLACEMENT,
	PAGES,
	CALLS,
	EVERY,
};
enum { COURSE, STEADY };
#define MIX_CHOICES "course,steady"
/* Bits: what is padded. */
enum { PADDED_LOCKS = 1, PADDED_SIZES = 2 };
#define PADDED_CHOICES "none,locks,sizes,both"
enum { EPOCH, NONE };
#define RECLAIM_CHOICES "epoch,none"
enum { LOCAL, INTERLEAVE };
#define PLACEMENT_CHOICES "local,interleave"
enum { SINGLE, BATCHES };
#define CALLS_CHOICES "single,batches"

/* How a variant is measured: struct variant's data. */
struct way {
	const struct map_kind *kind;
	bool words; /* values may have more than one word */
};

const struct map_kind *kind_of(const struct trial *);
struct mix mix_of(const struct trial *);
struct map_shape shape_of(const struct trial *);
enum pages pages_of(const struct trial *);
unsigned readers_of(const struct trial *); /* threads that only look up */
unsigned mixed_of(const struct trial *);   /* all others */

/* See struct benchmark. */
const char *hashmap_resolve(const struct trial *, union value *, uint64_t given);
struct needs hashmap_needs(const struct trial *);

enum { HASHMAP_METRICS = 15 };
extern const struct metric hashmap_metrics[HASHMAP_METRICS];

/* One thread's work. Ticks are clock_ticks(). */
struct own {
	_Alignas(APART) uint64_t stream, drawn; /* operations drawn since the start */
	int64_t keys;				/* insertions minus removals, in this map */
	uint64_t began, ended;			/* ticks, of the last sample */
	uint64_t drawing, working;		/* ticks, in the last sample */
	uint64_t sum;		 /* sum of the values read, so that the compiler keeps the reads */
	struct histogram *times; /* ticks of single operations */
};

enum { HASHMAP_SENTENCE = 160 };

struct state {
	const struct map_kind *kind;
	struct map_shape shape;
	struct map_memory memory;
	struct mix mix;
	struct team *team;
	void *map;
	bool fresh;			 /* each sample has its own map */
	bool batches;			 /* a block of operations is one call */
	uint64_t every;			 /* one in so many operations is timed; 0: none */
	size_t shared;			 /* bytes of memory.shared */
	struct histogram *times;	 /* one for each thread, then one for all */
	char sentence[HASHMAP_SENTENCE]; /* the fault that verify() found */
	struct own own[];
};

/* See struct ops. */
void *hashmap_prepare(const struct trial *);
void hashmap_enter(void *, struct worker *);
void hashmap_reset(void *);
void hashmap_work(void *, struct worker *);
const char *hashmap_verify(void *, const struct trial *);
void hashmap_release(void *);
void hashmap_collect(void *, const struct trial *, struct result *);

/* Before a thread's first operation, and after its last one. */
void hashmap_begin(const struct state *, struct worker *);
void hashmap_end(const struct state *, struct worker *);

/* The number of keys that the map must hold after all operations. */
int64_t hashmap_expected(const struct state *, unsigned threads);

#endif
