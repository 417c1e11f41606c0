/* SPDX-License-Identifier: Apache-2.0 */
/* Brute force: all centres for all points, a block of points at a time. */
#ifndef LOCUS_KMEANS_BRUTE_H
#define LOCUS_KMEANS_BRUTE_H

#include "bench/kmeans/method.h"
#include "bench/kmeans/tiles.h"

extern const struct method method_brute;

/*
 * Assigns a share's points first..last-1, where `first` begins a block. `fill`: these blocks are
 * not filled yet.
 */
void brute_force(const struct tiles *, const struct packed *, char *blocks, uint32_t *label,
		 struct share *, const struct stage *, size_t first, size_t last, bool fill);

#endif
