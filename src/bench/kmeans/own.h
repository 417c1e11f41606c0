/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sums relative to the largest value of the cluster itself, in each dimension. They are for points
 * of which some lie very far out: sums relative to all points (sums.h) would lose the others to
 * rounding. They don't follow the points that move: each iteration adds up all points.
 */
#ifndef LOCUS_KMEANS_OWN_H
#define LOCUS_KMEANS_OWN_H

#include "bench/kmeans/method.h"

/*
 * Whether sums need it, for points within low..high (as given) in each dimension: by how the start
 * centres are spread, so the same on all ranks. Scratch: d values.
 */
bool own_is_needed(const struct problem *, const double *low, const double *high, double *width);

/* Finds the largest |x| of each cluster and dimension in share->most, by share->label. */
void own_find_most(struct share *, const struct stage *);

/*
 * Adds up the share's points in share->change.sum. `most` (k rows of d) and `count` (k) are those
 * of all points.
 */
void own_add(struct share *, const struct stage *, const double *most, const int64_t *count);

/* The mean of `count` values, from their sum and the largest of them. */
double own_mean(int64_t sum, double most, int64_t count);

#endif
