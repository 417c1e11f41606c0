/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A thread's operations: keys and kinds, drawn in blocks. The clock is read between drawing and
 * doing, so the cost of drawing is known and not part of the map's.
 */
#ifndef LOCUS_HASHMAP_MIX_H
#define LOCUS_HASHMAP_MIX_H

#include "bench/hashmap/map.h"
#include "kit/random.h"

enum distribution {
	DISTRIBUTION_UNIFORM,
	DISTRIBUTION_ZIPF, /* key r has weight 1 / r^skew */
	DISTRIBUTION_HOT,  /* `skew` is the share of one key, the others are uniform */
};
#define DISTRIBUTION_CHOICES "uniform,zipf,hot"

enum mix_kind {
	MIX_FIND,
	MIX_UPSERT,
	MIX_INSERT,
	MIX_REMOVE,
	/*
	 * A lookup, followed by: nothing; an insertion if absent; an insertion if absent, else a
	 * removal and an insertion.
	 */
	MIX_COURSE_LOOK,
	MIX_COURSE_INSERT,
	MIX_COURSE_RENEW,
};

struct mix {
	bool course;
	double reads, turnover; /* shares: lookups in all; insertions and removals in the rest */
	uint64_t range;		/* number of possible keys */
	enum distribution distribution;
	double skew;
	struct zipf zipf;
};

struct operation {
	uint64_t key;
	enum mix_kind kind;
};

/* Keys 0..range-1 are scattered over all 64-bit numbers; mix_number() is the inverse. */
#define MIX_SCATTER UINT64_C(0x9e3779b97f4a7c15)
#define MIX_GATHER  UINT64_C(0xf1de83e19937733d)
static inline uint64_t mix_key(uint64_t i)
{
	return i * MIX_SCATTER;
}

static inline uint64_t mix_number(uint64_t key)
{
	return key * MIX_GATHER;
}

/* Draws operations first..first+n-1 of a stream. Not inlined: drawing and doing are timed apart. */
__attribute__((noinline)) void mix_draw(const struct mix *, uint64_t stream, uint64_t first,
					bool read_only, struct operation *, unsigned n);
/* Whether key i is in the map at the start: chosen so that the mix keeps the map's size. */
bool mix_holds(const struct mix *, uint64_t i);

/* A word of the value of one write: verification finds words that do not belong together. */
static inline uint64_t mix_word(uint64_t key, uint64_t stamp, unsigned word)
{
	return key + stamp * MAP_MOST_WORDS + word;
}

#endif
