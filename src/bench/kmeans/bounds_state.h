/* SPDX-License-Identifier: Apache-2.0 */
/* What a worker keeps for pruning by bounds (bounds.c), and how a bound is made. */
#ifndef LOCUS_KMEANS_BOUNDS_STATE_H
#define LOCUS_KMEANS_BOUNDS_STATE_H

#include <math.h>

#include "bench/kmeans/method.h"
#include "bench/kmeans/tiles.h"

/*
 * Cycles a point: to look at all centres, by brute force; to make bounds of that, too; to be a
 * suspect; and each group that it looks at then.
 */
struct costs {
	double all, bound, suspect, look;
};

struct costs costs_of(const struct tiles *, unsigned d, unsigned groups);

/* A point that its bounds don't hold. */
struct suspect {
	/* scores: of the nearest centre, and in the same group */
	double least, second;
	uint32_t label;
	unsigned point; /* in the chunk */
};

/* What is at the start of a worker's memory. */
struct bounds {
	const struct tiles *tiles, *floats; /* of the points' type; of the bounds' */
	struct packed centres;
	unsigned chunk, groups;
	struct costs costs;
	bool on; /* all chunks, not only the scouts */
	char *block;
	uint32_t *label;
	bool *bounded; /* by chunk: bounds are known */
	/* by point: to its centre, to all others; as of the last look */
	float *upper, *lower;
	/* by point and group: to its centres but the point's; with `drift` added */
	float *group;
	double *square; /* by point: of its length */
	/* by group: how far a centre of it can have moved in all iterations */
	double *drift;
	/* Of the chunk that is worked on. */
	void *best;
	char *row;
	struct suspect *suspect;
	struct winner *winner;
	uint16_t *list; /* by group: suspects that look at it */
	unsigned *listed;
	uint16_t *near;
	float *reach; /* by group: the drift, rounded up */
};

/* How far the centres of each group, and all but one, have moved at most. */
struct moves {
	float most, second;
	uint32_t which;
};

/* Bytes of a share's memory; and it, where it lies. */
size_t bounds_bytes(size_t n, unsigned d, unsigned k, enum real);
void bounds_lay_out(void *memory, size_t n, unsigned d, unsigned k, enum real);

/*
 * Bounds of a distance from its square, and back from an upper one: what a lower one has to exceed,
 * so that no score of that centre is less.
 */
static inline float upper_of(double square, const struct stage *g)
{
	return (float)sqrt(fmax(square + 8 * g->slack, 0)) * UPPER;
}

static inline float lower_of(double square, const struct stage *g)
{
	return (float)sqrt(fmax(square - 8 * g->slack, 0)) * LOWER;
}

static inline float beyond(float upper, const struct stage *g)
{
	return (float)sqrt((double)upper * (double)upper + 8 * g->slack) * UPPER;
}

/* The least score of the centres of a group, but for the point's own one. */
static inline void note_bound(struct bounds *b, const struct stage *g, size_t point, unsigned group,
			      double score)
{
	b->group[point * b->groups + group] =
		(lower_of(2 * score + b->square[point], g) + (float)b->drift[group]) * LOWER;
}

#endif
