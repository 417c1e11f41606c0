/* SPDX-License-Identifier: Apache-2.0 */
/* A sorted array cut into ranges, one for each owner, with at least one element each. */
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
	 * The last elements of all ranges but the last, followed by largest keys: slots - 1 in all,
	 * of the keys' width. A key's owner is the number of limits less than it. So its
	 * lower_bound is in the owner's range, or at its end.
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

#endif
