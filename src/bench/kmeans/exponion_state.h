/* SPDX-License-Identifier: Apache-2.0 */
/* A worker's state for the exponion method (exponion.c), and how points are decided. */
#ifndef LOCUS_KMEANS_EXPONION_STATE_H
#define LOCUS_KMEANS_EXPONION_STATE_H

#include "bench/kmeans/distances.h"
#include "bench/kmeans/method.h"
#include "bench/kmeans/rough.h"
#include "bench/kmeans/sorted.h"
#include "bench/kmeans/tiles.h"

/* Of a point's distances: an upper bound to its centre, a lower bound to any other. */
struct range {
	float upper, lower;
};

/* What the last iteration has changed around a centre. */
struct around {
	float moved; /* how far it moved, at most */
	float most;  /* the largest upper bound of its points */
	float safe;  /* a point within this keeps the label, whatever its lower bound */
	float drop;  /* how far any other centre within `far` moved, at most */
	float far;
};

/* Rings of equal width around a centre, in halves of squared distances. */
enum { RINGS = 32 };
struct rings {
	float from, scale;
	uint32_t end[RINGS]; /* centres up to the end of each */
};

/* Lies at the start of a worker's memory. */
struct exponion {
	struct rough rough;
	struct sorted points;
	struct range *range;	   /* by point */
	struct around *around;	   /* by centre */
	uint32_t *suspect, *order; /* points that may get another label; the same, by label */
	uint32_t *end;		   /* of those of each label */
	/* Of the centre that is looked at. */
	float *score; /* of all centres */
	uint16_t *found;
	uint32_t *listed; /* those that are near, by ring */
	struct packed list;
	struct rings rings;
	/* Of points that are looked at. */
	double *square;
	float *reach; /* how far from their centre another one may be that is nearer */
	uint32_t *open, *ordered;
	uint8_t *ring; /* also of centres */
	float *zero;   /* k times */
	float error;   /* of half a squared distance of two centres, at most */
};

_Static_assert(sizeof(struct exponion) <= MOST_HEAD, "there is room for it");

enum { BATCH = 256 }; /* points */

void exponion_lay_out(struct exponion *, struct carver *, size_t n, unsigned d, unsigned k,
		      enum real);
/* Prepares an iteration's centres. */
void exponion_pack(struct exponion *, const struct stage *);
/* Finds what has changed around each centre. `moved` and `most` are set. */
void exponion_look_around(struct exponion *, const struct stage *);
/* How many centres may be nearer than centre c to a point within `upper` of that. */
unsigned exponion_rivals(struct exponion *, const struct stage *, uint32_t c, float upper);
/* Finds the labels of n listed points that have label c. */
void exponion_decide(struct exponion *, struct share *, const struct stage *, uint32_t c,
		     const uint32_t *list, size_t n);

/* Whether a point keeps its label. */
static inline bool is_settled(const struct range *r, const struct around *a, const struct stage *g)
{
	const float slack = (float)(8 * g->slack) * UPPER;

	return (r->upper < a->safe) |
	       ((r->lower > 0) & ((r->lower - r->upper) * (r->lower + r->upper) > slack));
}

#endif
