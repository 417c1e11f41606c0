/* SPDX-License-Identifier: Apache-2.0 */
/* A worker's state for pruning by cells (cells.c): its points, sorted into cells and tiles. */
#ifndef LOCUS_KMEANS_CELLS_H
#define LOCUS_KMEANS_CELLS_H

#include "solve/kmeans/method.h"

enum {
	MOST_DIMENSIONS = 3,
	TILE = 16, /* points of a tile */
	/* points of a cell, at most: a 64-bit mask has a bit for each tile, and one to spare */
	CELL_POINTS = 512,
	/*
	 * a cell has as many points as so many mean clusters: larger cells would have too many
	 * candidates
	 */
	PER_CENTRE = 3,
	/*
	 * small neighbouring buckets share a cell, but fill at most 1/SMALL of it: their common box
	 * is long
	 */
	SMALL = 4,
	AIM_BUCKETS = 4000,		/* caches cope badly with more write streams */
	MOST_BUCKETS = 2 * AIM_BUCKETS, /* with sides rounded up */
	MOST_LEVELS = 8,		/* depth of nested grids: an overfull bucket gets its own */
	GROUPS = 32,			/* groups of buckets per worker */
	/* size of a list; a cell with more candidates uses all centres */
	MOST_CANDIDATES = 256,
	/* iterations that candidates should last at the centres' present pace */
	AHEAD = 8,
	FEW = 4, /* candidates that fit into registers, with the other values needed */
};

/*
 * capacity of a cell over the mean number of points in a bucket: evenly spread points then hardly
 * ever overfill a bucket
 */
#define FILL 1.28

/* Lengths are upper or lower bounds, with margins for rounding. cells.c has the theory. */
struct cell {
	uint32_t points, row; /* the index of the first row */
	uint32_t tile;	      /* the index of the first tile */
	uint32_t candidates;  /* number of candidates; more than index->most: all centres */
	double middle[MOST_DIMENSIONS], half[MOST_DIMENSIONS], radius; /* of its box */
	/*
	 * the most by which the scores of any two candidates, for a point in the box, have
	 * approached each other since candidates were found
	 */
	double gone;
	/*
	 * the most that any centre and any candidate together have moved since; beyond `allowed`,
	 * candidates are searched again
	 */
	double spent, allowed;
	double margin; /* of candidates' scores (cells_look.h) */
};

/* Lies at the start of a share's memory. */
struct index {
	unsigned d;
	/* capacity of a cell in points, and in tiles (rounded up to whole vectors) */
	uint32_t full, stride;
	/* number of centres, rounded up to whole vectors; room of a list of candidates */
	uint32_t padded, most;
	/*
	 * The bucket of each point of the worker's share. Its cells hold as many points as its
	 * share, at the places from `first` on.
	 */
	uint16_t *bucket;
	size_t first;
	/* points of a bucket: first of the worker's share, then of each nested grid */
	uint32_t *histogram;
	/*
	 * by bucket of the first grid: the points of all workers; the place of this worker's next
	 * one
	 */
	uint32_t *total, *next;
	uint16_t *order;    /* buckets, in the order in which they lie */
	const void *origin; /* the stage's */
	/*
	 * the cells' points as original rows of d values, and each point's place before it was
	 * sorted again; spare rows, in the memory that becomes `tile`
	 */
	void *row, *spare_row;
	uint32_t *was, *spare_was;
	struct cell *cell;
	uint32_t cells;
	/* by cell and tile: once cell->gone reaches this value, the tile must be examined */
	float *until;
	/*
	 * each tile: d lines of values (for doubles relative to the cell's middle), and one line of
	 * labels, which are -1 at first
	 */
	float *tile;
	uint32_t *list, *all; /* by cell: its candidates, ascending; all centres */
	float *rival;	      /* scratch: a cell's candidates as floats */
	const struct form *form;
	/* centres by dimension, then their half squares; scratch */
	void *column, *score;
	double *change; /* by centre: last change of its d values and half square */
};

/* An instruction set's functions for a type. */
struct form {
	void (*build)(struct share *, const struct stage *);
	/* Finds a cell's candidates (cells_look.h). */
	void (*look)(struct index *, struct cell *, const struct stage *, double pace);
};

/* A cell's list of candidates. */
static inline const uint32_t *candidates(const struct index *x, const struct cell *cell)
{
	return cell->candidates > x->most ? x->all : x->list + (size_t)(cell - x->cell) * x->most;
}

#endif
