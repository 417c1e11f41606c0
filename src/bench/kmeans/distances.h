/* SPDX-License-Identifier: Apache-2.0 */
/* Bounds of distances, from computed squares: in float, with margins for all rounding. */
#ifndef LOCUS_KMEANS_DISTANCES_H
#define LOCUS_KMEANS_DISTANCES_H

#include <math.h>

#include "bench/kmeans/method.h"
#include "bench/kmeans/tiles.h"

/* Of two; the first if the second is NaN. fmaxf() and fminf() would not be inline. */
static inline float larger_of(float a, float b)
{
	return b > a ? b : a;
}

static inline float smaller_of(float a, float b)
{
	return b < a ? b : a;
}

/* Upper and lower bound of a distance, from its computed square. */
static inline float upper_of(double square, const struct stage *g)
{
	return (float)sqrt(fmax(square + 8 * g->slack, 0)) * UPPER;
}

static inline float lower_of(double square, const struct stage *g)
{
	return (float)sqrt(fmax(square - 8 * g->slack, 0)) * LOWER;
}

/* A centre whose lower bound exceeds this can't have a lower score than a centre within `upper`. */
static inline float beyond(float upper, const struct stage *g)
{
	return (float)sqrt((double)upper * (double)upper + 8 * g->slack) * UPPER;
}

#endif
