/* SPDX-License-Identifier: Apache-2.0 */
/* A worker's state for pruning by cells (cells.c): its points, sorted into cells and tiles. */
#ifndef LOCUS_KMEANS_CELLS_INDEX_H
#define LOCUS_KMEANS_CELLS_INDEX_H

#include <stddef.h>
#include <stdint.h>

#include "kit/real.h"

enum {
	MOST_DIMENSIONS = 3,
	TILE_BYTES = 64, /* of a tile's values in one dimension, and of its labels */
	/* at most: a 64-bit mask has a bit for each tile */
	CELL_POINTS = 512,
	/* a cell is as large as so many mean clusters: larger ones have too many candidates */
	PER_CENTRE = 3,
	/* neighbouring small buckets share a cell up to 1/SMALL of its room: their box is long */
	SMALL = 4,
	AIM_BUCKETS = 4000,		/* caches cope badly with more write streams */
	MOST_BUCKETS = 2 * AIM_BUCKETS, /* after the sides are rounded up */
	MOST_LEVELS = 8,		/* of grids, one within an overfull bucket of another */
	/* of a list; a cell with more of them uses all centres */
	MOST_CANDIDATES = 256,
	/* iterations that candidates should last at the centres' present pace */
	AHEAD = 8,
};

/* room of a cell over its mean: evenly spread points then hardly ever overfill one */
#define FILL 1.28

/* Lengths are upper or lower bounds, with margins for rounding. cells.c has the theory. */
struct cell {
	uint32_t points, first; /* its first tile */
	uint32_t candidates;	/* how many; more than index->most: all */
	double middle[MOST_DIMENSIONS], half[MOST_DIMENSIONS], radius; /* of its box */
	/* the most that any two candidates have moved since they were found */
	double gone;
	/* the most that any centre and the nearest have moved since; beyond `allowed` look again */
	double spent, allowed;
	/* the most that a tile's bound may allow; 1 / (far + cap / 2), for any `far` until then */
	double cap, slope;
	/* a tile's bound is least(limit, base + slope * what scores differ by) */
	double base, limit;
};

/* A tile that has to be looked at. */
struct due {
	uint32_t cell, tile; /* of the cell's */
};

/* Lies at the start of a share's memory. */
struct index {
	unsigned d;
	/* room of a cell in points, and in tiles (whole vectors) */
	uint32_t full, stride;
	/* number of centres in whole vectors; room of a list of candidates */
	uint32_t padded, most;
	/* n records of d + 1 values: sorted by cell; unsorted, in what becomes `tile` later */
	void *record, *spare;
	uint16_t *bucket;    /* n */
	uint32_t *histogram; /* of each level */
	struct cell *cell;
	uint32_t cells;
	/* by cell and tile: the cell->gone from which the tile must be looked at */
	void *until;
	/* each tile: d lines of values and one of labels, which are -1 at first */
	void *tile;
	uint32_t *from;	      /* of each point in a tile: its number */
	uint32_t *list, *all; /* by cell: its candidates, ascending; all centres */
	struct due *due;      /* no more than there are tiles */
	/* centres by dimension, then their half squares; scratch */
	void *column, *score;
};

/* The list of a cell's candidates. */
static inline const uint32_t *candidates(const struct index *x, const struct cell *cell)
{
	return cell->candidates > x->most ? x->all : x->list + (size_t)(cell - x->cell) * x->most;
}

/* Bytes of a share's memory; sets it up at `memory`, aligned to APART. */
size_t cells_bytes(size_t n, unsigned d, unsigned k, enum real);
void cells_lay_out(void *memory, size_t n, unsigned d, unsigned k, enum real);

/*
 * Divides a box into about so many buckets: `side` gets the number along each dimension. At least 2
 * in all, unless the box is a point.
 */
void cells_divide(const double *extent, unsigned d, double buckets, uint32_t *side);

/* Makes the next so many records a cell, or several; or adds them to the last, if it is small. */
void cells_cut(struct index *, size_t records);

#endif
