/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Brute force for doubles, by floats: vectors hold twice as many. Where the least score of a point,
 * in float, is below all others by more than rounding can hide, its centre is also the nearest in
 * double. The scores of the other points are computed in double. So the labels are those of
 * doubles, bit for bit.
 */
#ifndef LOCUS_KMEANS_FILTER_H
#define LOCUS_KMEANS_FILTER_H

#include "bench/kmeans/method.h"
#include "bench/kmeans/tiles.h"

extern const struct method method_filter;

struct filter {
	const struct tiles *floats, *tiles;
	struct packed rough, centres; /* the centres as floats, and as doubles */
	float *block;		      /* the points, as floats */
	float *value, *half;	      /* for pack() */
	double *row;		      /* points of a block, as doubles */
	double margin; /* scores in float that differ by more are in the same order in double */
	/* points in this iteration, and those of them that floats didn't decide */
	uint64_t points, undecided;
};

/* With few centres, scores are not most of the work. */
bool filter_pays(enum real, unsigned k);
/* `block`: of carve_begin() */
void filter_lay_out(struct filter *, struct carver *, float *block, unsigned d, unsigned k);
/* Makes the block of n points that begins at point `first`, as floats; unused lanes are 0. */
void filter_round(const struct filter *, const struct share *, const struct stage *, size_t first,
		  unsigned n);
/* Before each iteration. */
void filter_begin(struct filter *, const struct stage *);
/*
 * Assigns a share's points first..last-1, where `first` begins a block. `fill`: these blocks are
 * not filled yet.
 */
void filter_force(struct filter *, uint32_t *label, struct share *, const struct stage *,
		  size_t first, size_t last, bool fill);
/* Assigns all points: by doubles alone once floats lose, unless the method is forced. */
void filter_assign(struct filter *, uint32_t *label, struct share *, const struct stage *);
/* Whether floats decided enough points of the last iteration to save time. */
bool filter_helps(const struct filter *);
/*
 * Whether floats have decided so few points in this iteration that brute force, on all of a share's
 * n points, would have ended a 32nd earlier. The rest is brute force's then.
 */
bool filter_loses(const struct filter *, size_t n);

#endif
