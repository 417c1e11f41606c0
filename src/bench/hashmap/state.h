/* SPDX-License-Identifier: Apache-2.0 */
/* The state of a trial of hashmap: the map, its memory, and what each thread did. */
#ifndef LOCUS_HASHMAP_STATE_H
#define LOCUS_HASHMAP_STATE_H

#include "bench/hashmap/map.h"
#include "bench/hashmap/mix.h"
#include "bench/hashmap/sizes.h"
#include "kit/histogram.h"

/* What a thread did. Ticks are those of clock_ticks(). */
struct own {
	_Alignas(APART) uint64_t stream, drawn; /* operations drawn since the start */
	int64_t keys;				/* inserted less removed, in this map */
	uint64_t began, ended;			/* ticks, of the last sample */
	uint64_t drawing, working;		/* ticks, in the last sample */
	uint64_t sum;				/* of values read: the compiler must keep reads */
	struct histogram *times;		/* ticks of single operations */
};

enum { HASHMAP_SENTENCE = 160 };

struct state {
	const struct map_kind *kind;
	struct map_shape shape;
	struct map_memory memory;
	struct mix mix;
	struct team *team;
	void *map;
	bool fresh;			 /* each sample has a map of its own */
	bool batches;			 /* a block of operations is one call */
	uint64_t every;			 /* one in so many operations is timed; 0: none */
	size_t shared;			 /* bytes of memory.shared */
	struct histogram *times;	 /* by thread, then of all */
	char sentence[HASHMAP_SENTENCE]; /* verify()'s */
	struct own own[];
};

/* See struct ops. */
void *hashmap_prepare(const struct trial *);
void hashmap_enter(void *, struct worker *);
void hashmap_reset(void *);
void hashmap_work(void *, struct worker *);
const char *hashmap_verify(void *, const struct trial *);
void hashmap_release(void *);

/* Keys that the map must hold after what the threads did. */
int64_t hashmap_expected(const struct state *, unsigned threads);

#endif
