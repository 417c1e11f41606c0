/* SPDX-License-Identifier: Apache-2.0 */
/* Brute force: all centres for all points, a block of points at a time. */
#ifndef LOCUS_KMEANS_BRUTE_H
#define LOCUS_KMEANS_BRUTE_H

#include "bench/kmeans/method.h"
#include "bench/kmeans/tiles.h"

extern const struct method brute;

/*
 * Brute force for a share's points from first to last, of which the first begins a block. In
 * iteration 0 the blocks are made, too.
 */
void brute_force(const struct tiles *, const struct packed *, char *blocks, uint32_t *label,
		 struct share *, const struct stage *, size_t first, size_t last);

#endif
