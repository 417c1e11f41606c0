/* SPDX-License-Identifier: Apache-2.0 */
/* Pruning by bounds of each point's distances. */
#ifndef LOCUS_KMEANS_BOUNDS_H
#define LOCUS_KMEANS_BOUNDS_H

#include "bench/kmeans/method.h"

extern const struct method method_bounds;

#endif
