/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What decides a label where scores don't: squared distances by differences of coordinates as
 * given. Their rounding is relative to the distance itself, however large other coordinates are.
 */
#ifndef LOCUS_KMEANS_EXACT_H
#define LOCUS_KMEANS_EXACT_H

#include "bench/kmeans/method.h"
#include "bench/kmeans/tiles.h"

/*
 * Finds the nearest of n listed centres (NULL: of all) to a point as given; of equally near ones
 * the lowest.
 */
uint32_t exact_nearest(const struct stage *, const void *given, const uint32_t *list, unsigned n);

/*
 * The same of packed centres, whose numbers are listed (NULL: all in their order): only those whose
 * scores rounding may have put above the least. Uses the share's scratch.
 */
uint32_t exact_of_packed(const struct share *, const struct stage *, const void *given,
			 const struct packed *, const uint32_t *list);

/* Room for a share's scratch. */
struct scratch exact_carve(struct carver *, unsigned d, unsigned k);

#endif
