/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Labels by scores in float, for methods that compare a point with a list of centres. Where
 * rounding might change a label, scores of doubles decide it, or distances (exact.h).
 */
#ifndef LOCUS_KMEANS_ROUGH_H
#define LOCUS_KMEANS_ROUGH_H

#include "bench/kmeans/filter.h"
#include "bench/kmeans/method.h"
#include "bench/kmeans/tiles.h"

struct rough {
	const struct tiles *tiles, *floats; /* for the points' type; for scores */
	struct filter filter;		    /* of doubles: brute force, and centres as floats */
	struct packed all;		    /* of floats: the centres */
	char *block;			    /* of floats: the points for brute force */
	float *few;			    /* rows */
	float margin; /* scores that differ by more tell which centre is nearer */
	float error;  /* of the difference of two scores of a point, at most */
	/* computed in this iteration: scores in float, and distances in the points' type */
	uint64_t scores, exact;
};

/* `block`: of carve_begin() */
void rough_lay_out(struct rough *, struct carver *, void *block, unsigned d, unsigned k, enum real);
/* Before each iteration. */
void rough_pack(struct rough *, const struct stage *);
/* Brute force on all points, as given. */
void rough_force(struct rough *, uint32_t *label, struct share *, const struct stage *);
/* Whether floats decided enough points by brute force to save time. */
bool rough_helps(const struct rough *);
/*
 * Finds the nearest of the listed centres, packed in the order of `listed`, for up to FEW_ROWS
 * points, whose relative rows are at `point` of `rows`. `ahead`: the second least score less the
 * least; 0 where floats don't tell the label.
 */
void rough_nearest(struct rough *, const char *rows, const uint32_t *point, unsigned n,
		   const struct packed *, const uint32_t *listed, uint32_t *label, float *ahead);
/* Finds the nearest of all centres to a point as given, which floats don't tell. */
uint32_t rough_exact(struct rough *, const struct share *, const struct stage *, const char *given);
/* Packs n listed centres. */
void rough_list(const struct rough *, const struct stage *, const uint32_t *listed, unsigned n,
		struct packed *);

/* The centres as floats: values, halves, and packed. */
static inline const float *rough_values(const struct rough *r, const struct stage *g)
{
	return g->real == REAL_DOUBLE ? r->filter.value : g->centre;
}

static inline const float *rough_halves(const struct rough *r, const struct stage *g)
{
	return g->real == REAL_DOUBLE ? r->filter.half : g->half;
}

static inline const struct packed *rough_packed(const struct rough *r)
{
	return r->block ? &r->all : &r->filter.rough;
}

/* Distances in this iteration; one in float counts as half of one in double. */
static inline uint64_t rough_computed(const struct rough *r, const struct stage *g)
{
	return r->exact + r->scores / (g->real == REAL_DOUBLE ? 2 : 1);
}

#endif
