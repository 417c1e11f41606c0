/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sorted array, its ranges, and streams of keys to look up in it. Each element and key is a
 * function of the seed and its index, so that threads generate their parts in parallel.
 *
 * The range of keys is divided into n equal intervals, and element i is drawn from interval i; the
 * first is 0, the last the largest key.
 */
#ifndef LOCUS_SEARCH_RECIPE_H
#define LOCUS_SEARCH_RECIPE_H

#include <stddef.h>
#include <stdint.h>

#include "base/apart.h"
#include "kit/random.h"

enum distribution {
	DISTRIBUTION_UNIFORM, /* all keys equally likely */
	/* only keys that are in the array: element r has weight 1 / r^skew */
	DISTRIBUTION_ZIPF,
	/*
	 * a share of `skew` uniformly in the first tenth of the array, the others uniformly in the
	 * rest
	 */
	DISTRIBUTION_HOT,
};
#define DISTRIBUTION_CHOICES "uniform,zipf,hot"
enum { TENTH = 10 };

struct recipe {
	uint64_t seed;
	/* elements: fewer than 2^32, and at most as many as there are possible keys */
	size_t n;
	unsigned width; /* bytes of a key: 4 or 8 */
	enum distribution distribution;
	double skew;
	struct zipf zipf;
	uint64_t hot; /* the first key above the hot ones */
};
struct recipe recipe_of(uint64_t seed, size_t n, unsigned width, enum distribution, double skew);

uint64_t recipe_largest(const struct recipe *);
uint64_t recipe_element(const struct recipe *, size_t i);
/* Key i of a stream; the first two are the smallest and the largest possible. */
uint64_t recipe_key(const struct recipe *, unsigned stream, size_t i);
/* The index of the interval that has the key: lower_bound's answer, or one less. */
size_t recipe_about(const struct recipe *, uint64_t key);

void key_put(const struct recipe *, void *keys, size_t i, uint64_t key);
uint64_t key_get(const struct recipe *, const void *keys, size_t i);

/*
 * The first fills slots first..last-1 of an array that has `length` elements from `offset` on,
 * followed by the largest key; the second generates the first n keys of a stream.
 */
void recipe_fill_array(const struct recipe *, void *array, size_t offset, size_t length,
		       size_t first, size_t last);
void recipe_fill_stream(const struct recipe *, void *keys, unsigned stream, size_t n);

/* A sorted array cut into ranges, one for each owner, with at least one element each. */
struct ranges {
	unsigned parts, slots; /* slots: the next power of two */
	/* parts + 1: elements from begin[i] to begin[i + 1] are owner i's */
	size_t *begin;
	/*
	 * The last elements of all ranges but the last, followed by largest keys: slots - 1 in all,
	 * of the keys' width. The number of limits below a key is its owner: so its lower_bound is
	 * in the owner's range, or at its end.
	 */
	void *limit;
};

/*
 * Cut an array of at least `parts` elements into ranges: with equal numbers of elements, or of
 * equal weight, estimated from `samples` keys of a stream of their own. -1 with errno ENOMEM.
 */
int ranges_even(struct ranges *, const struct recipe *, unsigned parts);
int ranges_weighted(struct ranges *, const struct recipe *, unsigned parts, size_t samples);
void ranges_free(struct ranges *);

/* Keys in memory, looked up packet by packet, cyclically. */
struct stream {
	_Alignas(APART) unsigned char *key;
	/* number of keys, a multiple of a packet; index of the next packet's first key */
	size_t keys, at;
	uint64_t dealt;	 /* packets since the start */
	uint32_t packet; /* keys in a packet */
	unsigned width;	 /* bytes of a key */
};

static inline unsigned char *stream_next(const struct stream *s)
{
	return s->key + s->at * s->width;
}

static inline void stream_go_on(struct stream *s, uint32_t packets)
{
	s->dealt += packets;
	s->at += (size_t)packets * s->packet;
	if (s->at == s->keys)
		s->at = 0;
}

#endif
