/* SPDX-License-Identifier: Apache-2.0 */
/* How far apart most of the points are, by the start centres: the same on all ranks. */
#ifndef LOCUS_KMEANS_SPREAD_H
#define LOCUS_KMEANS_SPREAD_H

#include "bench/kmeans/problem.h"

/*
 * Finds, for each dimension, the largest width of all points of which no point is said to lie far
 * out: many times the distance of start centres from their median, of which a quarter is nearer.
 * Where a quarter is at the median, the largest width of other dimensions is taken.
 */
void spread_find(const struct problem *, double *width);

#endif
