/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pruning by cells, for few dimensions. Points are sorted into the cells of a grid that is finer
 * where points are denser, at most CELL_POINTS to a cell. Within a cell they follow a winding path,
 * so that a tile - as many points as fit a cache line - covers a small patch. All workers sort all
 * points of the rank together and divide the cells, since tiles of a worker's points as given would
 * be larger the more workers there are, and so be looked at more often.
 *
 * A cell has a list of candidates: the centres that may be nearest to some point in its box (by a
 * linear test, as in Kanungo et al. 2002 and Pelleg and Moore 1999). A tile has a bound: how much
 * nearer scores of its cell's candidates may come until one of its labels can change. So most tiles
 * are not touched in most iterations; the others are compared with their cell's candidates, 2 to 4
 * in the plane. Tiles are of floats: those of doubles relative to the middle of their cell, so that
 * little is lost by rounding. Points that they leave open are decided by distances (exact.h).
 *
 * Why no other centre is nearer: write a for the distance of a point to the nearest centre, b for
 * that to another one, in relative coordinates, and r for the largest of any point or centre from
 * their origin. The other one can't be the nearest where b - a > 2 (d + 4) EPSILON r: coordinates
 * were rounded, which changes b - a by 2 EPSILON r at most, and so are the distances that decide
 * (exact.h), together by (d + 3) EPSILON r. By the slack, which contains r^2 (frame.c), that is
 * less than root := 3 sqrt((d + 4) EPSILON slack). Of a centre that is no candidate, b - a shrinks
 * by at most what the two centres move.
 *
 * Of candidates: where scores differ by t as tiles compute them, true ones differ by t less what
 * rounding adds, which is cell->margin at most (cells_look.h). A score is linear in the point, so
 * from one iteration to the next it changes in a box by what it changes in the middle, give or take
 * half the box times the centre's move; and so does the difference of two. Rounded coordinates of
 * centres do not add up over iterations: the margin has them once, and covers moves until the next
 * search; where that one finds a larger margin, bounds of tiles are lowered by so much.
 */
#include <float.h>
#include <math.h>
#include <string.h>

#include "bench/kmeans/cells.h"
#include "bench/kmeans/cells_index.h"
#include "bench/kmeans/deal.h"
#include "bench/kmeans/tiles.h"
#include "kit/instructions.h"
#include "trial.h"

#define LOOPS "bench/kmeans/cells_loops.h"
#include "bench/kmeans/vectors.h"

/* Widest first. */
static const struct {
	enum isa needs;
	const struct form *of[2]; /* by type */
} forms[] = {
#ifdef __x86_64__
	{ ISA_AVX512, { [REAL_DOUBLE] = &form_avx512_double, [REAL_FLOAT] = &form_avx512_float } },
	{ ISA_AVX2, { [REAL_DOUBLE] = &form_avx2_double, [REAL_FLOAT] = &form_avx2_float } },
#endif
	{ ISA_BASELINE,
	  { [REAL_DOUBLE] = &form_baseline_double, [REAL_FLOAT] = &form_baseline_float } },
};

static const struct form *form(const struct stage *g)
{
	size_t i = 0;

	while (forms[i].needs > g->widest || !isa_usable(forms[i].needs))
		i++;
	return forms[i].of[g->real];
}

/* Points of a rank, to within one; the same on all ranks. */
static size_t points_of_rank(const struct problem *p)
{
	return p->all / ranks_of(p->ranks);
}

static bool fits(const struct problem *p)
{
	/* a label is kept as a float, which must hold it exactly */
	return p->points.d <= MOST_DIMENSIONS && p->k < 1u << 24 &&
	       points_of_rank(p) < UINT32_MAX - 2; /* points are numbered in 32 bits */
}

/*
 * The share of brute force's work that remains with few points per centre, of evenly spread ones: a
 * cell is compared with all centres, and its points with its candidates. These are in a ball about
 * twice as wide as the cell's diagonal. By counted instructions, one of the first comparisons costs
 * as much as 5 of brute force, one of the second as 3. Tiles that need not be looked at save more,
 * but only with many points per centre. Measured (Zen 5), all of it takes twice as long: sorting,
 * and many short lists.
 */
static double share_left(const struct problem *p)
{
	static const double ball[] = { 0, 2, 3.14, 4.19 }; /* its volume, if its radius is 1 */
	const unsigned d = p->points.d;
	const double k = p->k, full = (double)cells_full(points_of_rank(p), p->k),
		     volume = full * k / (double)points_of_rank(p), /* of a cell, in centres */
		side = d == 1	? volume
		       : d == 2 ? sqrt(volume)
				: cbrt(volume),
		     radius = 1.9 * side * sqrt(d) / 2 + 0.5;
	double candidates = ball[d];

	for (unsigned j = 0; j < d; j++)
		candidates *= radius;
	return 5 / full + 3 * (candidates < MOST_CANDIDATES ? fmin(candidates, k) : k) / k;
}

/*
 * Sorting the points costs as much as a few iterations of brute force. Measured (Sapphire Rapids)
 * with 20,000 to 200,000 points, 2 to 1024 centres, 1 to 108 iterations. Where iterations run until
 * nothing changes, 12 are assumed: fewer are rare. The same on all ranks.
 */
static bool pays(const struct problem *p)
{
	const double iterations = p->iterations ? (double)p->iterations : 12,
		     k = p->k * (p->points.real == REAL_FLOAT ? 0.5 : 1);

	return p->points.d <= MOST_DIMENSIONS && iterations * (32 + k) >= 300 * p->points.d &&
	       (points_of_rank(p) / p->k >= 32 || share_left(p) <= 0.25);
}

static void build(struct share *s, const struct stage *g)
{
	struct index *x = s->memory;

	cells_lay_out(s, g);
	x->form = form(g);
	x->origin = g->origin;
	for (unsigned c = 0; c < g->k; c++)
		x->all[c] = c;
	x->form->build(s, g);
}

/* Each worker has the labels of its cells; then it takes those of its points as given. */
static void labels(struct share *s, const struct stage *g)
{
	const struct index *x = s->memory;
	uint32_t *const by_place = s->joint->label;

	for (const struct cell *cell = x->cell; cell < x->cell + x->cells; cell++) {
		const float *label = x->tile + ((size_t)cell->tile * (g->d + 1) + g->d) * TILE;
		const uint32_t *was = x->was + cell->row;

		for (uint32_t i = 0; i < cell->points; i += TILE) {
			const uint32_t n = cell->points - i < TILE ? cell->points - i : TILE;

			for (uint32_t lane = 0; lane < n; lane++)
				by_place[was[i + lane]] = (uint32_t)label[lane];
			label += (size_t)TILE * (g->d + 1);
		}
	}
	deal_labels_by_place(s);
}

static size_t row(const struct problem *p)
{
	return p->points.d * real_bytes(p->points.real);
}

const struct method method_cells = { "cells", 2,     fits,	   pays,   cells_bytes,
				     row,     build, cells_assign, labels, NULL };
