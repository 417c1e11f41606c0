/* SPDX-License-Identifier: Apache-2.0 */
/* A worker's state for pruning by balls of points, and how a ball is examined. */
#ifndef LOCUS_KMEANS_BALLS_H
#define LOCUS_KMEANS_BALLS_H

#include "solve/kmeans/nearest.h"
#include "solve/kmeans/order.h"

enum {
	LISTED = 64, /* centres that a ball remembers */
	/* the score of a middle takes as long as so many scores of points in brute force */
	MIDDLE = 3,
};

/*
 * Points that are close together. The room is how much farther away than the nearest centre all
 * others are, at least: while centres have moved less, the others need not be examined.
 */
struct ball {
	uint32_t first, n; /* its points, as a part of `order` */
	float radius;
	uint32_t nearest; /* the centre nearest to the middle */
	float upper; /* upper bound of the distance from any of its points to the nearest centre */
	/* how much farther than `nearest` the centres that are not listed are, at least */
	float room;
	bool own;	 /* each point has its own room, to all centres except its label's */
	unsigned listed; /* centres; 0: not known, or too many */
	uint32_t list[LISTED];
};

/* Lies at the start of a worker's memory. */
struct balls {
	struct rough rough;
	struct sorted points;
	float *room;	 /* by point */
	uint32_t *order; /* points by ball */
	struct ball *ball;
	char *middle; /* by ball, of the points' type, but exact as floats */
	uint32_t balls, most;
	/* Scratch for the current ball. */
	double *square; /* by point: squared distance, as measured last */
	float *few;	/* its middle, as floats */
	float *score;	/* scores of all centres */
	uint16_t *found;
	uint32_t *listed;
	float *ahead;		   /* by listed centre: its score minus the least */
	uint32_t *open;		   /* points without room */
	uint32_t *other;	   /* points of another ball, or undecided by floats */
	struct packed list, exact; /* as floats, and of the points' type */
	double cost;		   /* cost of examining and dividing, in scores of brute force */
};

/* Lays out memory for at most `most` balls. */
void balls_lay_out(struct balls *, struct carver *, size_t n, unsigned d, unsigned k, enum real,
		   size_t most);
/* Makes a ball of n points, from place `first` of `order` on. */
void balls_enclose(struct balls *, const struct stage *, struct ball *, uint32_t first, uint32_t n);
/*
 * Lists the centres that may be nearest to any of a ball's points, and returns their number. First
 * divides the ball, as long as that pays; second halves go to the end of the list of balls.
 */
unsigned balls_look(struct balls *, const struct stage *, struct ball *);
/* The cost of the scores of n listed centres per point, in scores of brute force. */
size_t balls_cost(const struct balls *, unsigned n);

#endif
