/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sorted array, and streams of keys to be looked up in it: each element and each key follows
 * from the seed and its index alone, so that threads make their parts at the same time.
 *
 * Of n elements, the i-th is drawn from the i-th n-th of all keys; the first is 0, the last the
 * largest key there is.
 */
#ifndef LOCUS_SEARCH_RECIPE_H
#define LOCUS_SEARCH_RECIPE_H

#include <stddef.h>
#include <stdint.h>

#include "bench/search/zipf.h"

enum distribution {
	UNIFORM, /* any key is as likely as any other */
	/* elements only: the r-th of the array has a popularity of 1 / r^skew */
	ZIPF,
	/*
	 * so many fall into the first tenth of the array, evenly there, the others evenly into the
	 * rest
	 */
	HOT,
};
#define DISTRIBUTIONS "uniform,zipf,hot"
enum { TENTH = 10 };

struct recipe {
	uint64_t seed;
	/* elements: fewer than 2^32, and no more than there are keys */
	size_t n;
	unsigned width; /* bytes of a key: 4 or 8 */
	enum distribution distribution;
	double skew;
	struct zipf zipf;
	uint64_t hot; /* the first key that is not */
};
struct recipe recipe_of(uint64_t seed, size_t n, unsigned width, enum distribution, double skew);

uint64_t recipe_largest(const struct recipe *);
uint64_t recipe_element(const struct recipe *, size_t i);
/* Key i of a stream; the first two of each are the least and the largest there are. */
uint64_t recipe_key(const struct recipe *, unsigned stream, size_t i);
/* The element in whose n-th of all keys this one is: what lower_bound says, or one less. */
size_t recipe_about(const struct recipe *, uint64_t key);

void key_put(const struct recipe *, void *keys, size_t i, uint64_t key);
uint64_t key_get(const struct recipe *, const void *keys, size_t i);

/*
 * An array that holds elements from `offset` on, so many as its length, and then the largest key:
 * its places first to last - 1. And the first n keys of a stream.
 */
void recipe_fill_array(const struct recipe *, void *array, size_t offset, size_t length,
		       size_t first, size_t last);
void recipe_fill_stream(const struct recipe *, void *keys, unsigned stream, size_t n);

#endif
