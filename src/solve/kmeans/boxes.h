/* SPDX-License-Identifier: Apache-2.0 */
/* A worker's state for pruning by boxes of points. */
#ifndef LOCUS_KMEANS_BOXES_H
#define LOCUS_KMEANS_BOXES_H

#include "solve/kmeans/order.h"
#include "solve/kmeans/nearest.h"

enum {
	FULL = 48,     /* points of a box: whole blocks, whatever the instructions */
	SIBLINGS = 16, /* boxes of a branch, at most */
};

/*
 * A box of points, or a branch of boxes, and which ones they are. They lie within `extent` of the
 * middle.
 */
struct box {
	uint32_t first, n;
	float *middle, *extent;
};

/* Lies at the start of a worker's memory. */
struct boxes {
	struct rough rough;
	bool tried, promised; /* promised: boxes should take less time than brute force */
	/* once done, they are ordered by box; `row` is used only if points are doubles */
	struct sorted points;
	struct box *box, *branch;
	uint32_t boxes, branches;
	float *block; /* by box: its points, FULL of them */
	struct tree tree;
	float *row;	     /* the points, as floats: by part */
	uint32_t *other;     /* by point */
	float *least, *most; /* least and largest values of a box; from d on, of a branch */
	double *exact;	     /* a block */
	/* Scratch for the current branch or box. */
	float *score; /* scores of all centres */
	uint16_t *found;
	uint32_t *near, *listed; /* centres that may be nearest in the branch; in the box */
	struct packed list;	 /* the centres in `near` */
	/*
	 * sets of centres, `words` words each: the centres that moved; by branch, the centres that
	 * were near
	 */
	size_t words;
	uint64_t *moved, *before;
};

#endif
