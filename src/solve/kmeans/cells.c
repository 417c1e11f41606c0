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
 * in the plane. Tiles hold floats; for doubles these are relative to the middle of the cell, so
 * that rounding loses little. Points that floats cannot decide are decided by distances (exact.h).
 *
 * Why no other centre is nearer: write a for the distance of a point to the nearest centre, b for
 * the distance to another centre, in relative coordinates, and r for the largest of any point or
 * centre from their origin. The other centre can't be the nearest where b - a > 2 (d + 4) EPSILON
 * r: coordinates were rounded, which changes b - a by 2 EPSILON r at most, and so are the distances
 * that decide (exact.h), together by (d + 3) EPSILON r. By the slack, which contains r^2 (frame.c),
 * that is less than root := 3 sqrt((d + 4) EPSILON slack). For a centre that is no candidate, b - a
 * shrinks by at most the moves of the two centres.
 *
 * For candidates: if the scores that tiles compute differ by t, the true scores differ by at least
 * t minus cell->margin, which bounds the rounding (cells_look.h). A score is linear in the point.
 * So from one iteration to the next, the score of any point of a box changes as the middle's score
 * does, to within half the box times the centre's move; the difference of two scores likewise. The
 * rounding of the centres' coordinates does not add up over iterations: the margin includes it
 * once, and covers moves until the next search. If that search finds a larger margin, the bounds of
 * tiles are lowered by the increase.
 */
#include <float.h>
#include <math.h>
#include <string.h>

#include "base/ranks.h"
#include "kit/carve.h"
#include "kit/shares.h"
#include "solve/kmeans/cells.h"
#include "solve/kmeans/order.h"
#include "solve/kmeans/nearest.h"

/* ---- memory ---- */

/* Room of a cell, in points. */
static size_t cells_full(size_t n, unsigned k)
{
	const size_t least = (size_t)4 * TILE, wish = n / k * PER_CENTRE;

	return wish < least ? least : wish < CELL_POINTS ? wish / TILE * TILE : CELL_POINTS;
}

/* n: points of the share; `all`: points of the rank. */
static void lay_out(struct index *at, struct carver *c, size_t n, size_t all, unsigned d,
		    unsigned k, enum real real)
{
	const size_t value = real_bytes(real), full = cells_full(all, k),
		     cells = (size_t)2 * SMALL * (n / full + 1), tiles = n / TILE + cells,
		     tile = (size_t)TILE * (d + 1) * sizeof(*at->tile);

	carve(c, sizeof(*at));
	at->d = d;
	at->full = (uint32_t)full;
	at->stride = (uint32_t)(full / TILE + 15) / 16 * 16;
	at->padded = (k + 15) / 16 * 16;
	at->most = k < MOST_CANDIDATES ? k : MOST_CANDIDATES;
	at->bucket = carve(c, n * sizeof(*at->bucket));
	at->histogram = carve(c, (size_t)MOST_LEVELS * (MOST_BUCKETS + 1) * sizeof(*at->histogram));
	at->total = carve(c, MOST_BUCKETS * sizeof(*at->total));
	at->next = carve(c, MOST_BUCKETS * sizeof(*at->next));
	at->order = carve(c, MOST_BUCKETS * sizeof(*at->order));
	at->was = carve(c, n * sizeof(*at->was));
	at->spare_row = at->tile =
		carve(c, tiles * tile > n * d * value ? tiles * tile : n * d * value);
	at->spare_was = carve(c, n * sizeof(*at->spare_was));
	at->cell = carve(c, cells * sizeof(*at->cell));
	at->until = carve(c, cells * at->stride * sizeof(*at->until));
	at->list = carve(c, cells * at->most * sizeof(*at->list));
	at->all = carve(c, k * sizeof(*at->all));
	at->column = carve(c, (size_t)at->padded * (d + 1) * value);
	at->score = carve(c, at->padded * value);
	at->change = carve(c, (size_t)at->padded * (d + 1) * sizeof(*at->change));
	at->rival = carve(c, (size_t)at->padded * (d + 1) * sizeof(*at->rival));
}

static size_t bytes(const struct problem *p, size_t n)
{
	struct carver c = { .memory = NULL };
	struct index none;

	lay_out(&none, &c, n, p->points.n, p->points.d, p->k, p->points.real);
	return c.used;
}

static void lay_out_share(struct share *s, const struct stage *g)
{
	const struct joint *j = s->joint;
	struct carver c = { .memory = s->memory };
	struct index *x = s->memory;

	lay_out(x, &c, s->n, j->points, g->d, g->k, g->real);
	x->first = share_begin(j->points, s->index, j->workers);
	x->row = (char *)j->row + x->first * g->d * real_bytes(g->real);
}

/* ---- the index ---- */

/* Group i is for worker i % workers. */
static void order(uint16_t *to, uint32_t buckets, unsigned workers)
{
	const uint32_t length = (buckets - 1) / (workers * GROUPS) + 1;

	for (uint32_t worker = 0; worker < workers; worker++)
		for (uint32_t first = worker * length; first < buckets; first += workers * length)
			for (uint32_t b = first; b < buckets && b < first + length; b++)
				*to++ = (uint16_t)b;
}

/*
 * Once all workers have counted their points: finds the places of this worker's. Neighbouring
 * buckets lie beside each other in groups, which go to the workers in turn, since work differs from
 * place to place.
 */
static void cells_place(struct share *s, uint32_t buckets)
{
	const struct index *x = s->memory;
	uint32_t place = 0;

	order(x->order, buckets, s->joint->workers);
	memset(x->total, 0, buckets * sizeof(*x->total));
	for (unsigned i = 0; i < s->joint->workers; i++) {
		const struct index *other = s->joint->share[i].memory;

		if (i == s->index)
			memcpy(x->next, x->total, buckets * sizeof(*x->next));
		for (uint32_t b = 0; b < buckets; b++)
			x->total[b] += other->histogram[b];
	}
	for (uint32_t i = 0; i < buckets; i++) {
		x->next[x->order[i]] += place;
		place += x->total[x->order[i]];
	}
}

/*
 * Divides a box into about `buckets` buckets: `side` gets the number along each dimension. At least
 * 2 in all, unless the box is a point.
 */
static void cells_divide(const double *extent, unsigned d, double buckets, uint32_t *side)
{
	double longest = 0, edge = INFINITY, all = 1;
	unsigned widest = 0;
	bool flat[MOST_DIMENSIONS] = { false };

	buckets = fmin(fmax(buckets, 1), AIM_BUCKETS);
	for (unsigned j = 0; j < d; j++)
		if (extent[j] > longest) {
			longest = extent[j];
			widest = j;
		}
	/* a side shorter than a bucket's edge is not divided; the others get more buckets */
	for (unsigned turn = 0; turn < d; turn++) {
		double volume = 1;
		unsigned left = 0;

		for (unsigned j = 0; j < d; j++)
			if (!flat[j] && extent[j] > 0) {
				volume *= extent[j] / longest;
				left++;
			}
		volume /= buckets;
		edge = left ? longest * (left == 1   ? volume
					 : left == 2 ? sqrt(volume)
						     : cbrt(volume))
			    : INFINITY;
		for (unsigned j = 0; j < d; j++)
			flat[j] = extent[j] < edge;
	}
	for (unsigned j = 0; j < d; j++) {
		side[j] = flat[j] || !(extent[j] / edge >= 1)
				  ? 1
				  : (uint32_t)fmin(extent[j] / edge, buckets);
		all *= side[j];
	}
	/* buckets lost by rounding go to the side with the longest ones */
	while (longest > 0 && all < fmax(buckets, 2)) {
		unsigned most = widest;

		for (unsigned j = 0; j < d; j++)
			if (extent[j] / side[j] > extent[most] / side[most])
				most = j;
		all = all / side[most] * (side[most] + 1);
		side[most]++;
	}
}

/* Makes one or more cells of the next rows, or adds them to the last cell if it is small. */
static void cells_cut(struct index *x, size_t rows)
{
	if (x->cells && x->cell[x->cells - 1].points + rows <= x->full / SMALL) {
		x->cell[x->cells - 1].points += (uint32_t)rows;
		return;
	}
	while (rows) {
		const uint32_t points = rows < x->full ? (uint32_t)rows : x->full;

		x->cell[x->cells++].points = points;
		rows -= points;
	}
}

/* ---- an iteration ---- */

/*
 * Upper bounds on how the centres moved: the largest move, and a centre's largest distance from 0.
 */
struct pace {
	double fastest, far;
};

/* A tile in which points have a new label, or may have. */
struct tile {
	float old[TILE] __attribute__((aligned(TILE * sizeof(float)))); /* labels before */
	const struct cell *cell;
	uint32_t number, changed, unsure; /* its number in the cell; points, as bits */
};

enum { MOST_LISTED = 64 }; /* listed tiles before their points are moved */

static inline float *tile_of(const struct index *x, const struct cell *cell, uint32_t t, unsigned d)
{
	return x->tile + (size_t)(cell->tile + t) * TILE * (d + 1);
}

/* The number of points in a cell's listed tiles. */
static inline uint32_t points_of(const struct cell *cell, uint64_t tiles)
{
	const uint32_t last = (cell->points - 1) / TILE, padding = (last + 1) * TILE - cell->points;

	return (uint32_t)__builtin_popcountll(tiles) * TILE - (tiles >> last & 1 ? padding : 0);
}

/* A tile's given points: rows of so many bytes. */
static inline const void *given_of(const struct index *x, const struct cell *cell, uint32_t t,
				   size_t bytes)
{
	return (const char *)x->row + (cell->row + (size_t)t * TILE) * bytes;
}

/* From the first listed point to the last: two cache lines hold most of them. */
static inline void fetch_rows(const struct index *x, const struct cell *cell, uint32_t t,
			      uint32_t lanes, size_t bytes)
{
	const char *const row = given_of(x, cell, t, bytes);

	__builtin_prefetch(row + (size_t)__builtin_ctz(lanes) * bytes);
	__builtin_prefetch(row + (size_t)(31 - __builtin_clz(lanes)) * bytes);
}

/* Compares labels; as integers, so that NaN costs no branch. */
static inline bool same(const float *a, const float *b)
{
	uint32_t bits[2];

	memcpy(&bits[0], a, sizeof(bits[0]));
	memcpy(&bits[1], b, sizeof(bits[1]));
	return bits[0] == bits[1];
}

/* Transposes the centres, padded with centres that are never nearest; notes their changes. */
static struct pace columns(struct index *x, const struct stage *g)
{
	double *change = x->change, square = 0;
	struct pace pace = { 0 };

	for (uint32_t c = 0; c < x->padded; c++)
		for (unsigned j = 0; j <= g->d; j++) {
			const size_t at = (size_t)j * x->padded + c;
			const double was = real_get(g->real, x->column, at);
			double now = j < g->d ? 0 : INFINITY;

			if (c < g->k)
				now = j < g->d ? real_get(g->real, g->centre, (size_t)c * g->d + j)
					       : real_get(g->real, g->half, c);
			real_set(g->real, x->column, at, now);
			*change++ = now - was;
		}
	for (unsigned c = 0; c < g->k; c++) {
		pace.fastest = g->moved[c] > pace.fastest ? g->moved[c] : pace.fastest;
		square = fmax(square, real_get(g->real, g->half, c));
	}
	pace.far = sqrt(2 * square);
	return pace;
}

/* Finds the labels of a tile's unsure points. */
static void settle(const struct index *x, const struct stage *g, struct tile *of)
{
	const size_t row = g->d * real_bytes(g->real);
	const char *rows = given_of(x, of->cell, of->number, row);
	float *const label = tile_of(x, of->cell, of->number, g->d) + (size_t)g->d * TILE;

	for (uint32_t unsure = of->unsure; unsure; unsure &= unsure - 1) {
		const uint32_t lane = (uint32_t)__builtin_ctz(unsure);

		label[lane] = (float)exact_nearest(g, rows + lane * row, candidates(x, of->cell),
						   of->cell->candidates);
		of->changed &= ~(1u << lane);
		of->changed |= (uint32_t)(label[lane] != of->old[lane]) << lane;
	}
}

/* The labels of a new tile: none is known. */
#define FOUR -1, -1, -1, -1
static const float unlabelled[TILE] = { FOUR, FOUR, FOUR, FOUR };
#undef FOUR

#define LOOPS "solve/kmeans/cells_build.h"
#include "solve/kmeans/vectors.h"

/* Forms, the widest vectors first. */
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

static void assign(struct share *s, const struct stage *g)
{
#ifdef __x86_64__
	if (g->widest >= ISA_AVX512 && isa_usable(ISA_AVX512)) {
		assign_any_avx512_float(s, g);
		return;
	}
	if (g->widest >= ISA_AVX2 && isa_usable(ISA_AVX2)) {
		assign_any_avx2_float(s, g);
		return;
	}
#endif
	assign_any_baseline_float(s, g);
}

/* ---- the method ---- */

enum { LEARNS = 2 }; /* iterations */

/* A method that computes a larger share of the distances after this does not pay. */
#define MOST_COMPUTED 0.7

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

/* Estimates the share of brute force's distances that cells still compute. */
static double share_left(const struct problem *p)
{
	static const double ball[] = { 0, 2, 3.14, 4.19 }; /* its volume, if its radius is 1 */
	const unsigned d = p->points.d;
	const double k = p->k, full = (double)cells_full(points_of_rank(p), p->k),
		     volume =
			     full * k / (double)points_of_rank(p), /* a cell's volume, in centres */
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
 * with 20,000 to 200,000 points, 2 to 1024 centres, 1 to 108 iterations. If iterations run until
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

	lay_out_share(s, g);
	x->form = form(g);
	x->origin = g->origin;
	for (unsigned c = 0; c < g->k; c++)
		x->all[c] = c;
	x->form->build(s, g);
}

/* Each worker first has the labels of its cells, and then collects the labels of its own points. */
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

/* True if later iterations still compute most distances; alike on all workers and ranks. */
static bool gives_up(struct share *s, const struct stage *g)
{
	return g->iteration - s->built >= LEARNS && !g->forced &&
	       (double)g->computed >= MOST_COMPUTED * (double)g->all * g->k;
}

const struct method method_cells = { .name = "cells",
				     .fits = fits,
				     .pays = pays,
				     .bytes = bytes,
				     .build = build,
				     .assign = assign,
				     .labels = labels,
				     .gives_up = gives_up };
