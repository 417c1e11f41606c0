/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The nearest centre of a point: by scores in float (`rough`), by scores of the points' type, and
 * by distances (exact.c), each if rounding may make the previous one wrong.
 */
#ifndef LOCUS_KMEANS_NEAREST_H
#define LOCUS_KMEANS_NEAREST_H

#include <math.h>

#include "solve/kmeans/method.h"
#include "solve/kmeans/tiles.h"

/* ---- distances ---- */

/*
 * Finds the nearest of n listed centres (NULL: all) to a given point; on a tie the lowest number.
 */
uint32_t exact_nearest(const struct stage *, const void *given, const uint32_t *list, unsigned n);

/*
 * As exact_nearest(), for packed centres with listed numbers (NULL: all in their order): looks only
 * at centres whose scores may exceed the least by rounding. Uses the share's scratch.
 */
uint32_t exact_of_packed(const struct share *, const struct stage *, const void *given,
			 const struct packed *, const uint32_t *list);

/* Room for a share's scratch. */
struct scratch exact_carve(struct carver *, unsigned d, unsigned k);

/* Bounds of distances, from computed squares: in float, with margins for all rounding. */

/* The larger of two; the first if the second is NaN. fmaxf() and fminf() would not be inline. */
static inline float larger_of(float a, float b)
{
	return b > a ? b : a;
}

static inline float smaller_of(float a, float b)
{
	return b < a ? b : a;
}

/* Upper bound of a distance, from its computed square. */
static inline float upper_of(double square, const struct stage *g)
{
	return (float)sqrt(fmax(square + 8 * g->slack, 0)) * UPPER;
}

/*
 * A centre whose lower bound exceeds this cannot have a lower score than a centre within `upper`.
 */
static inline float beyond(float upper, const struct stage *g)
{
	return (float)sqrt((double)upper * (double)upper + 8 * g->slack) * UPPER;
}

/* ---- scores in float ---- */

/*
 * Points and centres as floats: a vector holds twice as many floats as doubles. If points are
 * floats, this is the points' own type.
 */
struct rough {
	const struct tiles *tiles, *floats; /* for the points' type; for scores */
	struct packed centres, exact;	    /* as floats; of the points' type */
	float *block;			    /* the points, for brute force */
	bool filled;			    /* the blocks are filled */
	float *value, *half;		    /* doubles: the centres as floats, to be packed */
	double *row;			    /* doubles: points of a block */
	float *few;			    /* rows */
	float margin; /* if scores differ by more, they show which centre is nearer */
	float error;  /* largest error of the difference of two scores of a point */
	/* computed in this iteration: scores in float, and distances in the points' type */
	uint64_t scores, distances;
	/* points in this iteration's brute force, and how many of them floats did not decide */
	uint64_t points, undecided;
};

void rough_lay_out(struct rough *, struct carver *, size_t n, unsigned d, unsigned k, enum real);
/* To be called before each iteration. */
void rough_pack(struct rough *, const struct stage *);
/*
 * Brute force on all points. For doubles with `floats`: by floats first, until these have decided
 * so few points that doubles alone finish sooner.
 */
void rough_force(struct rough *, uint32_t *label, struct share *, const struct stage *,
		 bool floats);
/* Whether floats decided enough points by brute force to save time. */
bool rough_helps(const struct rough *);
/*
 * Finds the nearest of the listed centres, packed in the order of `listed`, for up to FEW_ROWS
 * points, whose relative rows are at `point` of `rows`. `ahead`: the second least score minus the
 * least; 0 if floats do not decide the label.
 */
void rough_nearest(struct rough *, const char *rows, const uint32_t *point, unsigned n,
		   const struct packed *, const uint32_t *listed, uint32_t *label, float *ahead);
/* Packs n listed centres. */
void rough_list(const struct rough *, const struct stage *, const uint32_t *listed, unsigned n,
		struct packed *);

/* The centres as floats: values and halves. */
static inline const float *rough_values(const struct rough *r, const struct stage *g)
{
	return g->real == REAL_DOUBLE ? r->value : g->centre;
}

static inline const float *rough_halves(const struct rough *r, const struct stage *g)
{
	return g->real == REAL_DOUBLE ? r->half : g->half;
}

/* Distances in this iteration; one in float counts as half of one in double. */
static inline uint64_t rough_computed(const struct rough *r, const struct stage *g)
{
	return r->distances + r->scores / (g->real == REAL_DOUBLE ? 2 : 1);
}

#endif
