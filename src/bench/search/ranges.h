/* SPDX-License-Identifier: Apache-2.0 */
/* A sorted array cut into ranges, one for each owner; each has an element at least. */
#ifndef LOCUS_SEARCH_RANGES_H
#define LOCUS_SEARCH_RANGES_H

#include <stddef.h>
#include <stdint.h>

#include "bench/search/recipe.h"

struct ranges {
	unsigned parts, slots; /* slots: the next power of two */
	/* parts + 1: elements from begin[i] to begin[i + 1] are owner i's */
	size_t *begin;
	/*
	 * The last elements of all ranges but the last, of the keys' width, and then largest keys,
	 * slots - 1 in all: a key belongs to the owner whose number is how many of these are less
	 * than it. What lower_bound says of it is then in its owner's range, or the end of that.
	 */
	void *limit;
};

/*
 * Of an array of parts elements at least: as many elements in each; or as much weight, by `samples`
 * of the keys of the stream with this number. -1 with errno ENOMEM.
 */
int ranges_even(struct ranges *, const struct recipe *, unsigned parts);
int ranges_weighted(struct ranges *, const struct recipe *, unsigned parts, unsigned stream,
		    size_t samples);
void ranges_free(struct ranges *);

#endif
