/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Points that are made from a seed, and which of them centres start from. Each thread or rank makes
 * its own rows: what they are does not depend on how they were divided.
 */
#ifndef LOCUS_KMEANS_GENERATE_H
#define LOCUS_KMEANS_GENERATE_H

#include "bench/kmeans/problem.h"

enum shape { UNIFORM, BLOBS };
/* the choices of a parameter, in the order of enum shape */
#define SHAPE_CHOICES "uniform,blobs"

struct recipe {
	/* UNIFORM: in [0,1)^d. BLOBS: Gaussian about middles that are uniform in [-10,10)^d */
	enum shape shape;
	uint64_t seed;
	/* BLOBS: how many; each point is of one of them at random */
	unsigned k;
	double spread; /* BLOBS: standard deviation in each dimension */
};

/*
 * No coordinate of blobs is beyond it: the middle is below 10, and normal deviates of 53 bits end
 * at 8.57.
 */
static inline double farthest_of_blobs(double spread)
{
	return 10 + 8.6 * spread;
}

/*
 * Makes rows first..first+part->n-1 of part->d values. A value depends on seed, row and dimension
 * alone: more dimensions leave the first ones as they are. (Of blobs, the last bits also depend on
 * the processor, where libm uses its multiply-add.)
 */
void generate_points(const struct recipe *, size_t first, struct points *part);

/*
 * The row of n that start centre `turn` is a copy of, 0 <= turn < n: rows at random, none twice,
 * the same in each process. Where rows have equal values, so may centres: then the first has all
 * their points, and the others stay where they are, without any.
 */
size_t drawn_row(uint64_t seed, size_t n, size_t turn);

#endif
