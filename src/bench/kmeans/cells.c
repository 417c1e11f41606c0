/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pruning by cells, for few dimensions. Points are sorted into cells of a grid that gets finer
 * where there are more of them, so that a cell has at most CELL_POINTS; and within a cell along a
 * winding path, so that a tile - as many as a line has room for - is a small patch of it.
 *
 * A cell knows its candidates: the centres that may be the nearest one of some point in its box (by
 * a linear test, as in Kanungo et al. 2002 and Pelleg and Moore 1999). A tile knows how far centres
 * may move until one of its labels can change (as a point does in Hamerly 2010), so that most tiles
 * are not touched in most iterations; the others are compared with their cell's candidates, of
 * which there are 2 or 3 in the plane.
 *
 * Why labels are those of all scores. Write a for the distance of a point to the nearest centre and
 * b for that to another one, and e for stage->slack. The other one's computed score can't be the
 * least where b^2 - a^2 > 4e, so where b - a > 2 sqrt(e) =: root. Where computed scores differ by
 * t, b^2 - a^2 >= 2t - 4e, and with a <= far this makes b - a >= sqrt(far^2 + 2t - 4e) - far, and
 * as long as that is at most `cap`, b - a >= (2t - 4e) / (2 far + cap). From then on b - a gets
 * less by no more than what the two centres have moved.
 */
#include <errno.h>
#include <float.h>
#include <math.h>
#include <string.h>

#include "bench/kmeans/method.h"
#include "kit/instructions.h"
#include "trial.h"

#define UNROLL _Pragma("GCC unroll 64")

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

/*
 * Lengths of the sides, counted in buckets: about so many in all, but at least 2 where the box has
 * a length at all.
 */
static void divide(const double *extent, unsigned d, double buckets, uint32_t *side)
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
	/* sides shorter than an edge make those of the others shorter */
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
	/* what rounding took: to the side with the longest buckets */
	while (longest > 0 && all < fmax(buckets, 2)) {
		unsigned most = widest;

		for (unsigned j = 0; j < d; j++)
			if (extent[j] / side[j] > extent[most] / side[most])
				most = j;
		all = all / side[most] * (side[most] + 1);
		side[most]++;
	}
}

/*
 * The next so many records are a cell, or several; or, if there is room, the rest of the last one.
 */
static void cut(struct index *x, size_t records)
{
	if (x->cells && x->cell[x->cells - 1].points + records <= x->full / SMALL) {
		x->cell[x->cells - 1].points += (uint32_t)records;
		return;
	}
	while (records) {
		const uint32_t here = records < x->full ? (uint32_t)records : x->full;

		x->cell[x->cells++].points = here;
		records -= here;
	}
}

static const uint32_t *candidates(const struct index *x, const struct cell *cell)
{
	return cell->candidates > x->most ? x->all : x->list + (size_t)(cell - x->cell) * x->most;
}

/* A form of the method, for an instruction set and a type. */
struct form {
	void (*build)(struct share *, const struct stage *);
	void (*assign)(struct share *, const struct stage *);
	void (*labels)(struct share *, const struct stage *);
};

#ifdef __x86_64__
#include <immintrin.h>

#define NAME(function)	      function##_avx512_double
#define TARGET		      TARGET_AVX512
#define REAL		      double
#define WIDTH		      64
#define ALL(x)		      _mm512_set1_pd(x)
#define LESS_PRODUCT(s, x, c) _mm512_fnmadd_pd(x, c, s)
#define MIN(a, b)	      _mm512_min_pd(a, b)
#define MAX(a, b)	      _mm512_max_pd(a, b)
#define GREATER(a, b)	      _mm512_cmp_pd_mask(a, b, _CMP_GT_OQ)
#define DIFFER(a, b)	      _mm512_cmp_pd_mask(a, b, _CMP_NEQ_UQ)
#define PICK(mask, a, b)      _mm512_mask_mov_pd(b, mask, a)
#define BITS(mask)	      ((uint32_t)(mask))
#define LEAST(a)	      _mm512_reduce_min_pd(a)
#include "bench/kmeans/cells.h"

#define NAME(function)	      function##_avx512_float
#define TARGET		      TARGET_AVX512
#define REAL		      float
#define WIDTH		      64
#define ALL(x)		      _mm512_set1_ps(x)
#define LESS_PRODUCT(s, x, c) _mm512_fnmadd_ps(x, c, s)
#define MIN(a, b)	      _mm512_min_ps(a, b)
#define MAX(a, b)	      _mm512_max_ps(a, b)
#define GREATER(a, b)	      _mm512_cmp_ps_mask(a, b, _CMP_GT_OQ)
#define DIFFER(a, b)	      _mm512_cmp_ps_mask(a, b, _CMP_NEQ_UQ)
#define PICK(mask, a, b)      _mm512_mask_mov_ps(b, mask, a)
#define BITS(mask)	      ((uint32_t)(mask))
#define LEAST(a)	      _mm512_reduce_min_ps(a)
#include "bench/kmeans/cells.h"

__attribute__((target("avx2"))) static inline double avx2_least_double(__m256d a)
{
	const __m128d two = _mm_min_pd(_mm256_castpd256_pd128(a), _mm256_extractf128_pd(a, 1));

	return _mm_cvtsd_f64(_mm_min_sd(two, _mm_unpackhi_pd(two, two)));
}

__attribute__((target("avx2"))) static inline float avx2_least_float(__m256 a)
{
	const __m128 four = _mm_min_ps(_mm256_castps256_ps128(a), _mm256_extractf128_ps(a, 1));
	const __m128 two = _mm_min_ps(four, _mm_movehl_ps(four, four));

	return _mm_cvtss_f32(_mm_min_ss(two, _mm_shuffle_ps(two, two, 1)));
}

#define NAME(function)	      function##_avx2_double
#define TARGET		      TARGET_AVX2
#define REAL		      double
#define WIDTH		      32
#define ALL(x)		      _mm256_set1_pd(x)
#define LESS_PRODUCT(s, x, c) _mm256_fnmadd_pd(x, c, s)
#define MIN(a, b)	      _mm256_min_pd(a, b)
#define MAX(a, b)	      _mm256_max_pd(a, b)
#define GREATER(a, b)	      _mm256_cmp_pd(a, b, _CMP_GT_OQ)
#define DIFFER(a, b)	      _mm256_cmp_pd(a, b, _CMP_NEQ_UQ)
#define PICK(mask, a, b)      _mm256_blendv_pd(b, a, mask)
#define BITS(mask)	      ((uint32_t)_mm256_movemask_pd(mask))
#define LEAST(a)	      avx2_least_double(a)
#include "bench/kmeans/cells.h"

#define NAME(function)	      function##_avx2_float
#define TARGET		      TARGET_AVX2
#define REAL		      float
#define WIDTH		      32
#define ALL(x)		      _mm256_set1_ps(x)
#define LESS_PRODUCT(s, x, c) _mm256_fnmadd_ps(x, c, s)
#define MIN(a, b)	      _mm256_min_ps(a, b)
#define MAX(a, b)	      _mm256_max_ps(a, b)
#define GREATER(a, b)	      _mm256_cmp_ps(a, b, _CMP_GT_OQ)
#define DIFFER(a, b)	      _mm256_cmp_ps(a, b, _CMP_NEQ_UQ)
#define PICK(mask, a, b)      _mm256_blendv_ps(b, a, mask)
#define BITS(mask)	      ((uint32_t)_mm256_movemask_ps(mask))
#define LEAST(a)	      avx2_least_float(a)
#include "bench/kmeans/cells.h"

#endif

/* No mask but vectors of all bits; what is picked are bits, too. */
#define BASELINE_PICK(mask, a, b) \
	((__typeof__(a))(((mask) & (__typeof__(mask))(a)) | (~(mask) & (__typeof__(mask))(b))))

#define NAME(function) function##_baseline_double
#define TARGET
#define REAL		      double
#define WIDTH		      16
#define ALL(x)		      ((NAME(vector)){ x, x })
#define LESS_PRODUCT(s, x, c) ((s) - (x) * (c))
#define MIN(a, b)	      BASELINE_PICK((b) > (a), a, b)
#define MAX(a, b)	      BASELINE_PICK((a) > (b), a, b)
#define GREATER(a, b)	      ((a) > (b))
#define DIFFER(a, b)	      ((a) != (b))
#define PICK(mask, a, b)      BASELINE_PICK(mask, a, b)
#define BITS(mask)	      ((uint32_t)(((mask)[0] & 1) | ((mask)[1] & 2)))
#define LEAST(a)	      ((a)[0] < (a)[1] ? (a)[0] : (a)[1])
#include "bench/kmeans/cells.h"

#define NAME(function) function##_baseline_float
#define TARGET
#define REAL		      float
#define WIDTH		      16
#define ALL(x)		      ((NAME(vector)){ x, x, x, x })
#define LESS_PRODUCT(s, x, c) ((s) - (x) * (c))
#define MIN(a, b)	      BASELINE_PICK((b) > (a), a, b)
#define MAX(a, b)	      BASELINE_PICK((a) > (b), a, b)
#define GREATER(a, b)	      ((a) > (b))
#define DIFFER(a, b)	      ((a) != (b))
#define PICK(mask, a, b)      BASELINE_PICK(mask, a, b)
#define BITS(mask) \
	((uint32_t)(((mask)[0] & 1) | ((mask)[1] & 2) | ((mask)[2] & 4) | ((mask)[3] & 8)))
#define LEAST(a) fminf(fminf((a)[0], (a)[1]), fminf((a)[2], (a)[3]))
#include "bench/kmeans/cells.h"

/* By width. */
static const struct {
	enum instruction_set needs;
	const struct form *of[2]; /* by type */
} forms[] = {
#ifdef __x86_64__
	{ AVX512, { [DOUBLE] = &form_avx512_double, [FLOAT] = &form_avx512_float } },
	{ AVX2, { [DOUBLE] = &form_avx2_double, [FLOAT] = &form_avx2_float } },
#endif
	{ BASELINE, { [DOUBLE] = &form_baseline_double, [FLOAT] = &form_baseline_float } },
};

static const struct form *form(const struct stage *g)
{
	size_t i = 0;

	while (forms[i].needs > g->widest || !instruction_set_usable(forms[i].needs))
		i++;
	return forms[i].of[g->real];
}

/* ---- the method ---- */

/* Of how many points a share is, or a few more; the same for all ranks. */
static size_t points_of_share(const struct problem *p)
{
	return p->all / p->threads / ranks_of(p->ranks);
}

static bool fits(const struct problem *p)
{
	/* a label has the type of the values */
	return p->points.d <= MOST_DIMENSIONS &&
	       p->k < (p->points.real == FLOAT ? 1u << 24 : UINT32_MAX) &&
	       points_of_share(p) < UINT32_MAX - 2; /* a point has a number of 32 bits */
}

/*
 * To sort the points costs as much as some iterations of brute force, which cost more with more
 * centres; and cells with few points to a centre save little. Measured (Sapphire Rapids) with
 * 20,000 to 200,000 points, 2 to 1024 centres, 1 to 108 iterations. How many it takes until nothing
 * changes nobody knows; rarely less than a dozen. The same for all ranks.
 */
static bool pays(const struct problem *p)
{
	const double iterations = p->iterations ? (double)p->iterations : 12,
		     k = p->k * (p->points.real == FLOAT ? 0.5 : 1);

	return points_of_share(p) / p->k >= 32 && iterations * (32 + k) >= 300 * p->points.d;
}

static void *take(char *base, size_t *cursor, size_t bytes)
{
	const size_t at = *cursor;

	*cursor += apart(bytes);
	return base ? base + at : NULL;
}

/*
 * What a share of n points takes; its parts are noted in the index, from base on, where the index
 * itself is; NULL: they are counted only.
 */
static size_t place(struct index *at, char *base, size_t n, unsigned d, unsigned k, enum real real)
{
	const size_t value = real_bytes(real), tile = TILE_BYTES / value, wish = n / k * PER_CENTRE;
	const size_t full = wish < 4 * tile	 ? 4 * tile
			    : wish < CELL_POINTS ? wish / tile * tile
						 : CELL_POINTS;
	const size_t cells = (size_t)2 * SMALL * (n / full + 1), tiles = n / tile + cells;
	size_t cursor = 0;

	take(base, &cursor, sizeof(*at));
	at->d = d;
	at->full = (uint32_t)full;
	at->stride = (uint32_t)(full / tile + 15) / 16 * 16;
	at->padded = (k + 15) / 16 * 16;
	at->most = k < MOST_CANDIDATES ? k : MOST_CANDIDATES;
	at->record = take(base, &cursor, n * (d + 1) * value);
	at->spare = at->tile = take(base, &cursor, tiles * TILE_BYTES * (d + 1));
	at->bucket = take(base, &cursor, n * sizeof(*at->bucket));
	at->histogram =
		take(base, &cursor, (size_t)LEVELS * (MOST_BUCKETS + 1) * sizeof(*at->histogram));
	at->cell = take(base, &cursor, cells * sizeof(*at->cell));
	at->until = take(base, &cursor, cells * at->stride * value);
	at->from = take(base, &cursor, tiles * tile * sizeof(*at->from));
	at->due = take(base, &cursor, tiles * sizeof(*at->due));
	at->list = take(base, &cursor, cells * at->most * sizeof(*at->list));
	at->all = take(base, &cursor, k * sizeof(*at->all));
	at->column = take(base, &cursor, (size_t)at->padded * (d + 1) * value);
	at->score = take(base, &cursor, at->padded * value);
	return cursor;
}

static size_t bytes(size_t n, unsigned d, unsigned k, enum real real)
{
	struct index none;

	return place(&none, NULL, n, d, k, real);
}

static void build(struct share *s, const struct stage *g)
{
	struct index *x = s->memory;

	place(x, s->memory, s->n, g->d, g->k, g->real);
	for (unsigned c = 0; c < g->k; c++)
		x->all[c] = c;
	form(g)->build(s, g);
}

static void assign(struct share *s, const struct stage *g)
{
	form(g)->assign(s, g);
}

static void labels(struct share *s, const struct stage *g)
{
	form(g)->labels(s, g);
}

const struct method cells = { "cells", fits, pays, bytes, build, assign, labels };
