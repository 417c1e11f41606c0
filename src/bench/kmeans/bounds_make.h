/* SPDX-License-Identifier: Apache-2.0 */
/* Bounds for points that have none: pruning by bounds, bounds.c. */
#ifndef LOCUS_KMEANS_BOUNDS_MAKE_H
#define LOCUS_KMEANS_BOUNDS_MAKE_H

#include "bench/kmeans/bounds_state.h"

/* Packs the centres for brute force, once an iteration. */
void bounds_pack_plain(struct bounds *, const struct stage *);

/*
 * Brute force on the points of the chunk that begins at point `first`: assigns them, and makes new
 * bounds. Of doubles by the filter, where that is used.
 */
void bounds_make(struct bounds *, struct share *, const struct stage *, size_t first,
		 unsigned points);

/*
 * Returns the label of a point whose scores don't tell it; sets an upper bound of the distance to
 * its centre.
 */
uint32_t bounds_settle(struct bounds *, const struct share *, const struct stage *, size_t point,
		       float *upper);

#endif
