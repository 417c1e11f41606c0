/* SPDX-License-Identifier: Apache-2.0 */
/* What a worker keeps for pruning by cells (cells.c): its points in cells, and those in tiles. */
#ifndef LOCUS_KMEANS_CELLS_INDEX_H
#define LOCUS_KMEANS_CELLS_INDEX_H

#include <stddef.h>
#include <stdint.h>

#include "kit/real.h"

enum {
	MOST_DIMENSIONS = 3,
	TILE_BYTES = 64, /* of its points in one dimension, and of their labels */
	/* of a cell, at most: as many tiles as a mask has bits */
	CELL_POINTS = 512,
	/* clusters in a cell: with more it has too many candidates */
	PER_CENTRE = 3,
	/* buckets with few points share a cell up to such a part of its room: their box is long */
	SMALL = 4,
	AIM_BUCKETS = 4000,		/* more places to write to at once than caches like */
	MOST_BUCKETS = 2 * AIM_BUCKETS, /* what rounding the sides up may make of them */
	LEVELS = 8,			/* of grids in full cells of grids */
	/* that are listed; if there are more, it is all centres */
	MOST_CANDIDATES = 256,
	/* iterations for which candidates should last if centres went on as they do */
	AHEAD = 8,
};

/* a cell's room over the mean: of evenly spread points, hardly one then has too many */
#define FILL 1.28

/* Lengths are upper or lower bounds; margins for rounding are in them. */
struct cell {
	uint32_t points, first; /* its first tile */
	uint32_t candidates;	/* how many; more than index->most: all */
	double middle[MOST_DIMENSIONS], half[MOST_DIMENSIONS], radius; /* of its box */
	/* what any two candidates have moved since they were found */
	double gone;
	/*
	 * what any centre and the nearest one have moved since; when others may become candidates
	 */
	double spent, allowed;
	/* see above: a tile's slack is at most the one; 1 / (far + cap / 2) at any time */
	double cap, slope;
	/* a tile's bound is least(limit, base + slope * what scores differ by) */
	double base, limit;
};

/* A tile that has to be looked at. */
struct due {
	uint32_t cell, tile; /* of the cell's */
};

/* What is in a share's memory. */
struct index {
	unsigned d;
	/* points and tiles that a cell has room for; the latter in whole vectors */
	uint32_t full, stride;
	/* centres, in whole vectors; of a list of candidates, its length */
	uint32_t padded, most;
	/* n of d + 1 values: sorted by cells; before. spare's memory is tile's, later */
	void *record, *spare;
	uint16_t *bucket;    /* n */
	uint32_t *histogram; /* of each level */
	struct cell *cell;
	uint32_t cells;
	/* by cell and tile: the cell->gone from which the tile must be looked at */
	void *until;
	/* d lines of values and one of labels: -1 in the beginning */
	void *tile;
	uint32_t *from;	      /* of each point in a tile: its number */
	uint32_t *list, *all; /* by cell: its candidates, ascending; 0, 1, ... */
	struct due *due;      /* no more than there are tiles */
	/* centres by dimension, then their half squares; scratch */
	void *column, *score;
};

/* The list of a cell's candidates. */
static inline const uint32_t *candidates(const struct index *x, const struct cell *cell)
{
	return cell->candidates > x->most ? x->all : x->list + (size_t)(cell - x->cell) * x->most;
}

/* Bytes of a share's memory; and it, where it lies. */
size_t cells_bytes(size_t n, unsigned d, unsigned k, enum real);
void cells_lay_out(void *memory, size_t n, unsigned d, unsigned k, enum real);

/*
 * Lengths of the sides, counted in buckets: about so many in all, but at least 2 where the box has
 * a length at all.
 */
void cells_divide(const double *extent, unsigned d, double buckets, uint32_t *side);

/*
 * The next so many records are a cell, or several; or, if there is room, the rest of the last one.
 */
void cells_cut(struct index *, size_t records);

#endif
