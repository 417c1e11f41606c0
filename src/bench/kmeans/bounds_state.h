/* SPDX-License-Identifier: Apache-2.0 */
/* A worker's state for pruning by bounds (bounds.c), and how bounds are computed. */
#ifndef LOCUS_KMEANS_BOUNDS_STATE_H
#define LOCUS_KMEANS_BOUNDS_STATE_H

#include "bench/kmeans/distances.h"
#include "bench/kmeans/filter.h"
#include "bench/kmeans/grouping.h"
#include "bench/kmeans/method.h"
#include "bench/kmeans/tiles.h"

/* Cycles per point. */
struct costs {
	double all;	/* brute force */
	double bound;	/* making bounds, on top of brute force */
	double suspect; /* measuring a suspect's distance to its centre */
	double look;	/* scores of one group, for a suspect */
	double choose;	/* of a centre: to choose its group */
};

struct costs costs_of(const struct tiles *, unsigned d, unsigned groups);

/* A point whose bounds cross: its label may change. */
struct suspect {
	/*
	 * scores of the nearest centre, of the second nearest in the same group, and of the second
	 * nearest of all that were looked at
	 */
	double least, second, other;
	uint32_t place; /* of the nearest centre */
	unsigned point; /* in the chunk */
};

/* Lies at the start of a worker's memory. */
struct bounds {
	const struct tiles *tiles, *floats; /* for the points' type; for the bounds' */
	struct packed centres;		    /* by place */
	struct packed plain;		    /* in the order of their numbers, for brute force */
	struct packed rough; /* by place, as floats: of doubles, if the filter is used */
	/*
	 * Groups are of centres that are near each other: the centre in each place, the place of
	 * each centre, and room for centres in this order. `grouped`: else places are numbers.
	 */
	uint32_t *centre_at, *place;
	char *rows, *halves;
	struct along *along;
	bool grouped;
	bool plain_packed, rough_packed; /* in this iteration */
	unsigned chunk, groups;
	struct costs costs;
	/* Bounds are used for all chunks, not only for scouts; they have saved time. */
	bool on, proven;
	/* Every so many chunks is a scout; they have bounds from the last iteration. */
	size_t apart;
	bool scouted;
	double purse; /* cycles that they may still cost */
	char *block;
	uint32_t *label;
	/* By chunk: it has bounds; its blocks are filled, also as floats. */
	bool *bounded, *filled, *rounded;
	struct filter filter; /* for doubles: brute force */
	bool filters;
	/*
	 * by point: bounds of the distance to its centre, and to any other; updated as centres move
	 */
	float *upper, *lower;
	/*
	 * by point and group: lower bound of the distance to the group's centres, without the
	 * point's own, plus `drift`
	 */
	float *group;
	double *square; /* by point: |x|^2 */
	/* by group: how far any of its centres may have moved, over all iterations */
	double *drift;
	/* Of the current chunk. */
	void *best;
	float *least; /* of a block, by point and group: lower bounds of squared distances */
	char *row;
	double *middle; /* d times 0: the origin, relative to itself */
	struct suspect *suspect;
	struct winner *winner;
	uint16_t *list; /* by group: the suspects that need its scores */
	unsigned *listed;
	uint16_t *near;
	float *reach, *rise; /* by group: the drift, rounded up and down */
};

/* The largest and second largest move of a centre in the last iteration. */
struct moves {
	float most, second;
	uint32_t which; /* the centre that moved most */
};

_Static_assert(sizeof(struct bounds) <= MOST_HEAD, "there is room for it");

/* Bytes of a share's memory; bounds_lay_out() sets it up at `memory`, aligned to APART. */
size_t bounds_bytes(const struct problem *, size_t n);
void bounds_lay_out(void *memory, size_t n, unsigned d, unsigned k, enum real);

/*
 * Sets a point's bound for a group. `score`: the least of the group's centres, without the point's
 * own.
 */
static inline void note_bound(struct bounds *b, const struct stage *g, size_t point, unsigned group,
			      double score)
{
	b->group[point * b->groups + group] =
		(lower_of(2 * score + b->square[point], g) + (float)b->drift[group]) * LOWER;
}

#endif
