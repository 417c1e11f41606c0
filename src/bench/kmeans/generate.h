/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Points generated from a seed, and the rows drawn as start centres. Each thread or rank makes its
 * own rows; values do not depend on the division.
 */
#ifndef LOCUS_KMEANS_GENERATE_H
#define LOCUS_KMEANS_GENERATE_H

#include "bench/kmeans/problem.h"

enum shape { SHAPE_UNIFORM, SHAPE_BLOBS };
/* the choices of a parameter, in the order of enum shape */
#define SHAPE_CHOICES "uniform,blobs"

struct recipe {
	/* uniform: in [0,1)^d; blobs: Gaussian about middles that are uniform in [-10,10)^d */
	enum shape shape;
	uint64_t seed;
	/* blobs: how many; each point belongs to a random one */
	unsigned k;
	double spread; /* blobs: standard deviation in each dimension */
};

/*
 * Upper bound of |x| of a blob's coordinates: middles are below 10, and normal deviates made from
 * 53 bits end at 8.57.
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
 * The row of n that start centre `turn` copies, 0 <= turn < n: random rows, none twice, the same in
 * each process. Rows, and so centres, may have equal values: then the first gets all their points,
 * and the others stay where they are.
 */
size_t drawn_row(uint64_t seed, size_t n, size_t turn);

#endif
