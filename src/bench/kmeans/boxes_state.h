/* SPDX-License-Identifier: Apache-2.0 */
/* A worker's state for pruning by boxes of points (boxes.c), and how the boxes are made. */
#ifndef LOCUS_KMEANS_BOXES_STATE_H
#define LOCUS_KMEANS_BOXES_STATE_H

#include "bench/kmeans/deal.h"
#include "bench/kmeans/method.h"
#include "bench/kmeans/rough.h"
#include "bench/kmeans/sorted.h"
#include "bench/kmeans/tiles.h"

enum {
	FULL = 48,	    /* points of a box: whole blocks, whatever the instructions */
	SIBLINGS = 16,	    /* boxes of a branch, at most */
	PARTS = MOST_PARTS, /* that the top of the tree divides the points into, at most */
	LEAST_PART = 4000,  /* points of a part, about */
	SAMPLED = 32,	    /* points of a part that the top is made of */
};

/* A box of points, or a branch of boxes: which, and within `extent` of the middle they lie. */
struct box {
	uint32_t first, n;
	float *middle, *extent;
};

/* A cut through a part of the space: points before `at` are in the first half. */
struct cut {
	unsigned by; /* dimension */
	float at;
};

/* Lies at the start of a worker's memory. */
struct boxes {
	struct rough rough;
	bool tried, promised; /* to take less time than brute force */
	struct sorted points; /* when done: by box; `row` is of doubles only */
	struct box *box, *branch;
	uint32_t boxes, branches;
	float *block; /* by box: its points, FULL of them */
	/* For dividing. */
	struct cut *top; /* a heap: the root is 1 */
	double whole;	 /* mean logarithm of the sides of the sample's box */
	float *row;	 /* the points, as floats: by part */
	float *key;
	uint32_t *order, *other; /* rows by box */
	float *low, *high;	 /* of what is divided */
	float *least, *most;	 /* of a box; then, d later, of a branch */
	double *exact;		 /* a block, or a row */
	/* Of a branch or box that is looked at. */
	float *score; /* of all centres */
	uint16_t *found;
	uint32_t *near, *listed; /* centres: of the branch, of the box */
	struct packed list;	 /* those near */
	/* sets of centres, of `words` words: which moved; by branch: those near before */
	size_t words;
	uint64_t *moved, *before;
};

_Static_assert(sizeof(struct boxes) <= MOST_HEAD, "there is room for it");

/* Levels of the top of the tree, for n points. */
unsigned boxes_levels(size_t n);
/* Makes the top, of a sample of the points. */
void boxes_plant(struct boxes *, const struct share *, const struct stage *);
/* Makes a box around a sampled point, as small as boxes will be there; after boxes_plant(). */
void boxes_guess(struct boxes *, const struct share *, const struct stage *, size_t sampled,
		 const struct box *);
/*
 * All workers together, after boxes_plant() of the points of all: deals these by the parts of the
 * top.
 */
void boxes_deal(struct boxes *, struct share *, const struct stage *);
/* Makes all boxes; after boxes_plant(). */
void boxes_make(struct boxes *, struct share *, const struct stage *);

#endif
