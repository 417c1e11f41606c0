/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sorted array, and streams of keys to look up in it. Each element and key is a function of the
 * seed and its index, so that threads generate their parts in parallel.
 *
 * The range of keys is divided into n equal intervals, and element i is drawn from interval i; the
 * first is 0, the last the largest key.
 */
#ifndef LOCUS_SEARCH_RECIPE_H
#define LOCUS_SEARCH_RECIPE_H

#include <stddef.h>
#include <stdint.h>

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
 * Fill slots first..last-1 of an array that has `length` elements from `offset` on, followed by the
 * largest key; and the first n keys of a stream.
 */
void recipe_fill_array(const struct recipe *, void *array, size_t offset, size_t length,
		       size_t first, size_t last);
void recipe_fill_stream(const struct recipe *, void *keys, unsigned stream, size_t n);

#endif
