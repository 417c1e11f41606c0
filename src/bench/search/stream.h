/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sorted array, and streams of keys to be looked up in it: each element and each key follows
 * from the seed and its index alone, so that threads make their parts at the same time.
 *
 * Of n elements, the i-th is drawn from the i-th n-th of all keys; the first is 0, the last the
 * largest key there is.
 */
#ifndef LOCUS_SEARCH_STREAM_H
#define LOCUS_SEARCH_STREAM_H

#include <stddef.h>
#include <stdint.h>

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

/*
 * Numbers 1..n with probabilities that go as 1 / r^exponent, by rejection-inversion (Hoermann and
 * Derflinger 1996), which needs no table.
 */
struct zipf {
	double exponent, n;
	/* integrals of the hat function; within `sure` above a number nothing is rejected */
	double begin, end, sure;
};
struct zipf zipf_of(uint64_t n, double exponent);
/* by a random number of 64 bits, which is also the seed of further tries */
uint64_t zipf_draw(const struct zipf *, uint64_t random);

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

/*
 * lower_bound as its definition says, in any sorted array of the recipe's length and width; in the
 * recipe's own (NULL: made here), it takes two steps at most.
 */
size_t reference(const struct recipe *, const void *array, uint64_t key);

#endif
