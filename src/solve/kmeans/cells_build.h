/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The index of the method `cells`: points sorted into cells, and within a cell into tiles; and the
 * candidates of a cell. No header: vectors.h includes it into cells.c once for each instruction set
 * and type. INLINE functions are called with d = 1, 2 and 3, as constants.
 */
#define EVERY ((1u << LANES) - 1)

#define EPSILON _Generic((REAL)0, float : (double)FLT_EPSILON, default : DBL_EPSILON)
#define INLINE	TARGET UNROLL_INLINE

/* Value j of the i-th point of a cell's tiles; j = d: its label. */
#define LANE(tile, i, j) (tile)[((size_t)((i) / TILE) * (d + 1) + (j)) * TILE + (i) % TILE]

#define ROW(x, i)	((REAL *)(x)->row + (size_t)(i)*d)
#define SPARE_ROW(x, i) ((REAL *)(x)->spare_row + (size_t)(i)*d)

/*
 * A grid of buckets: along each dimension they begin at `low`, with `per` of them per unit of
 * length, `side` of them.
 */
struct NAME(grid) {
	REAL low[MOST_DIMENSIONS], per[MOST_DIMENSIONS];
	uint32_t side[MOST_DIMENSIONS], buckets;
};

/* The bucket of a value in the box, along one dimension. Nothing branches on the value. */
INLINE uint32_t NAME(step)(const struct NAME(grid) * g, unsigned j, REAL value)
{
	const REAL where = (value - g->low[j]) * g->per[j];
	const uint32_t step = (uint32_t)(int32_t)(where > 0 ? where : 0);

	return step < g->side[j] ? step : g->side[j] - 1;
}

INLINE uint32_t NAME(bucket)(const struct NAME(grid) * g, const REAL *row, unsigned d)
{
	uint32_t bucket = NAME(step)(g, 0, row[0]);

	UNROLL for (unsigned j = 1; j < d; j++) bucket =
		bucket * g->side[j] + NAME(step)(g, j, row[j]);
	return bucket;
}

/* Divides a box into about `buckets` buckets, which are about as long as wide. */
INLINE struct NAME(grid) NAME(grid)(const REAL *low, const REAL *high, unsigned d, double buckets)
{
	struct NAME(grid) g = { .buckets = 1 };
	double extent[MOST_DIMENSIONS] = { 0 };

	UNROLL for (unsigned j = 0; j < d; j++) extent[j] = (double)high[j] - (double)low[j];
	cells_divide(extent, d, buckets, g.side);
	UNROLL for (unsigned j = 0; j < d; j++)
	{
		g.low[j] = low[j];
		g.per[j] = (REAL)(g.side[j] / extent[j]);
		/* too thin to be divided in this type */
		if (g.side[j] == 1 || !(g.per[j] * (high[j] - low[j]) > 1))
			g.per[j] = 0;
		g.buckets *= g.side[j];
	}
	return g;
}

/* Makes a given point relative. */
INLINE void NAME(relate)(REAL *row, const REAL *given, const REAL *origin, unsigned d)
{
	UNROLL for (unsigned j = 0; j < d; j++) row[j] = (given[j] - origin[j]) * origin[d];
}

/* The relative box of n given rows. */
INLINE void NAME(box)(const REAL *row, size_t n, const REAL *origin, unsigned d, REAL *low,
		      REAL *high)
{
	const enum real real = _Generic((REAL)0, float : REAL_FLOAT, default : REAL_DOUBLE);
	char scratch[2 * MOST_DIMENSIONS * MOST_WIDTH] __attribute__((aligned(MOST_WIDTH)));
	double least[MOST_DIMENSIONS], negated[MOST_DIMENSIONS];

	tiles_choose(real)->box(row, n, d, least, negated, scratch);
	UNROLL for (unsigned j = 0; j < d; j++)
	{
		low[j] = (REAL)least[j];
		high[j] = (REAL)-negated[j];
	}
	NAME(relate)(low, low, origin, d);
	NAME(relate)(high, high, origin, d);
}

TARGET static void NAME(sort_again)(struct index *x, size_t first, size_t n, unsigned level);

/*
 * Makes cells of the next bucket, after sorting it again if it is overfull. Returns the bucket's
 * end.
 */
INLINE size_t NAME(cut)(struct index *x, size_t first, size_t n, bool last, unsigned level,
			unsigned d)
{
	if (n <= x->full || last) {
		cells_cut(x, n);
	} else {
		memcpy(SPARE_ROW(x, first), ROW(x, first), n * d * sizeof(REAL));
		memcpy(x->spare_was + first, x->was + first, n * sizeof(*x->was));
		NAME(sort_again)(x, first, n, level + 1);
	}
	return first + n;
}

/*
 * Counting sort of the n spare rows from `first` on into the buckets of their box; the result is
 * cut into cells.
 */
INLINE void NAME(sort_nested)(struct index *x, size_t first, size_t n, unsigned level, unsigned d)
{
	uint32_t *const end = x->histogram + (size_t)level * (MOST_BUCKETS + 1);
	REAL low[MOST_DIMENSIONS], high[MOST_DIMENSIONS], row[MOST_DIMENSIONS];
	struct NAME(grid) g;
	size_t begin = first;

	NAME(box)(SPARE_ROW(x, first), n, x->origin, d, low, high);
	g = NAME(grid)(low, high, d, (double)n / x->full * FILL);
	memset(end, 0, (g.buckets + 1) * sizeof(*end));
	for (size_t i = first; i < first + n; i++) {
		NAME(relate)(row, SPARE_ROW(x, i), x->origin, d);
		x->bucket[i] = (uint16_t)NAME(bucket)(&g, row, d);
		end[x->bucket[i] + 1]++;
	}
	for (uint32_t b = 1; b < g.buckets; b++)
		end[b + 1] += end[b];
	for (size_t i = first; i < first + n; i++) { /* turns beginnings into ends */
		const size_t to = first + end[x->bucket[i]]++;

		memcpy(ROW(x, to), SPARE_ROW(x, i), d * sizeof(REAL));
		x->was[to] = x->spare_was[i];
	}
	for (uint32_t b = 0; b < g.buckets; b++) {
		const size_t rows = first + end[b] - begin;

		begin = NAME(cut)(x, begin, rows, rows == n || level + 1 == MOST_LEVELS, level, d);
	}
}

TARGET static void NAME(sort_again)(struct index *x, size_t first, size_t n, unsigned level)
{
	if (x->d == 1)
		NAME(sort_nested)(x, first, n, level, 1);
	else if (x->d == 2)
		NAME(sort_nested)(x, first, n, level, 2);
	else
		NAME(sort_nested)(x, first, n, level, 3);
}

/*
 * All workers together: a counting sort of all their points into the buckets of the box around all
 * ranks' points. Each worker then has as many consecutive rows as it has points, and makes cells of
 * them.
 */
INLINE void NAME(sort)(struct share *s, const struct stage *stage, unsigned d)
{
	struct index *x = s->memory;
	const REAL *const origin = stage->origin, *const given = s->x;
	REAL *const joint = s->joint->row;
	uint16_t *const bucket = x->bucket;
	uint32_t *const next = x->next, *const place = s->place;
	REAL low[MOST_DIMENSIONS], high[MOST_DIMENSIONS], row[MOST_DIMENSIONS];
	struct NAME(grid) g;
	size_t begin = 0, at = 0;

	UNROLL for (unsigned j = 0; j < d; j++)
	{
		low[j] = (REAL)stage->low[j];
		high[j] = (REAL)stage->high[j];
	}
	g = NAME(grid)(low, high, d, (double)s->joint->points / x->full * FILL);
	memset(x->histogram, 0, g.buckets * sizeof(*x->histogram));
	for (size_t i = 0; i < s->n; i++) {
		NAME(relate)(row, given + i * d, origin, d);
		bucket[i] = (uint16_t)NAME(bucket)(&g, row, d);
		x->histogram[bucket[i]]++;
	}
	share_meet(s);
	cells_place(s, g.buckets);
	for (size_t i = 0; i < s->n; i++) {
		const uint32_t spot = next[bucket[i]]++;
		REAL *const to = joint + (size_t)spot * d;

		/* each bucket is a separate stream: too many for the hardware to look ahead */
		__builtin_prefetch((char *)to + 64, 1);
		memcpy(to, given + i * d, d * sizeof(REAL));
		place[i] = spot;
	}
	share_meet(s);
	for (size_t i = 0; i < s->n; i++)
		x->was[i] = (uint32_t)(x->first + i);
	for (uint32_t i = 0; i < g.buckets; i++) {
		const size_t rows = x->total[x->order[i]], end = at + rows,
			     from = at > x->first ? at : x->first,
			     to = end < x->first + s->n ? end : x->first + s->n;

		at = end;
		if (from < to)
			begin = NAME(cut)(x, begin, to - from, false, 0, d);
	}
}

/* Sets the box of a cell's rows; returns a grid that divides it into slabs, each of TILE points. */
INLINE struct NAME(grid) NAME(slabs)(struct index *x, struct cell *cell, REAL *middle, unsigned d)
{
	REAL low[MOST_DIMENSIONS], high[MOST_DIMENSIONS];
	struct NAME(grid) g;
	double square = 0;

	NAME(box)(ROW(x, cell->row), cell->points, x->origin, d, low, high);
	UNROLL for (unsigned j = 0; j < d; j++)
	{
		REAL above, below;

		middle[j] = low[j] / 2 + high[j] / 2;
		above = high[j] - middle[j];
		below = middle[j] - low[j];
		cell->middle[j] = (double)middle[j];
		cell->half[j] = (double)((above > below ? above : below) * (REAL)(1 + 2 * EPSILON));
		square += cell->half[j] * cell->half[j];
	}
	cell->radius = sqrt(square) * (1 + 8 * DBL_EPSILON);
	g = NAME(grid)(low, high, d, (double)cell->points / TILE);
	g.buckets /= g.side[d - 1];
	return g;
}

/* The place of a point along the path through a cell: every other slab backwards. */
INLINE uint32_t NAME(along)(const struct NAME(grid) * g, const REAL *relative, unsigned d)
{
	uint32_t path = 0;

	UNROLL for (unsigned j = 0; j < d; j++)
	{
		const uint32_t step = NAME(step)(g, j, relative[j]), back = -(path & 1);

		path = path * g->side[j] + ((step ^ back) + (back & g->side[j]));
	}
	return path;
}

/* No label is known yet: all tiles must be examined. */
INLINE void NAME(begin)(struct index *x, struct cell *cell, float *tile, unsigned d)
{
	const uint32_t room = (cell->points + TILE - 1) / TILE * TILE;
	float *const until = x->until + (size_t)(cell - x->cell) * x->stride;

	/* pad with copies of the last point, whose labels are not used */
	for (uint32_t to = cell->points; to < room; to++)
		UNROLL for (unsigned j = 0; j < d; j++) LANE(tile, to, j) =
			LANE(tile, cell->points - 1, j);
	for (uint32_t t = 0; t < x->stride; t++)
		until[t] = t < room / TILE ? -1 : INFINITY;
	for (uint32_t to = 0; to < room; to += TILE)
		memcpy(&LANE(tile, to, d), unlabelled, sizeof(unlabelled));
	cell->spent = cell->gone = cell->margin = cell->candidates = 0;
	cell->allowed = -1;
}

/*
 * Sorts the rows of a cell into tiles, along a path that winds back and forth through slabs,
 * each about as wide as a tile should be long.
 */
INLINE void NAME(tile)(struct index *x, struct cell *cell, unsigned d)
{
	const uint32_t n = cell->points;
	REAL given[CELL_POINTS * MOST_DIMENSIONS], relative[CELL_POINTS * MOST_DIMENSIONS],
		middle[MOST_DIMENSIONS];
	struct NAME(grid) g = NAME(slabs)(x, cell, middle, d);
	const uint32_t fine = n / g.buckets + 1; /* steps along a slab */
	uint32_t was[CELL_POINTS], begin[2 * CELL_POINTS + 1] = { 0 };
	uint16_t bucket[CELL_POINTS];
	float *const tile = x->tile + (size_t)cell->tile * TILE * (d + 1);

	g.per[d - 1] = (REAL)(g.per[d - 1] * ((REAL)fine / (REAL)g.side[d - 1]));
	g.side[d - 1] = fine;
	memcpy(given, ROW(x, cell->row), (size_t)n * d * sizeof(REAL));
	memcpy(was, x->was + cell->row, n * sizeof(*was));
	for (uint32_t i = 0; i < n; i++)
		NAME(relate)(relative + (size_t)i * d, given + (size_t)i * d, x->origin, d);
	for (uint32_t i = 0; i < n; i++) {
		bucket[i] = (uint16_t)NAME(along)(&g, relative + (size_t)i * d, d);
		begin[bucket[i] + 1]++;
		__builtin_prefetch(tile + (size_t)i * (d + 1), 1);
	}
	for (uint32_t b = 1; b < g.buckets * fine; b++)
		begin[b + 1] += begin[b];
	for (uint32_t i = 0; i < n; i++) {
		const uint32_t to = begin[bucket[i]]++;

		UNROLL for (unsigned j = 0; j < d; j++)
		{
			const REAL value = relative[(size_t)i * d + j];

			LANE(tile, to, j) = (float)(value - (IS_FLOAT ? 0 : middle[j]));
		}
		memcpy(ROW(x, cell->row + to), given + (size_t)i * d, d * sizeof(REAL));
		x->was[cell->row + to] = was[i];
	}
	NAME(begin)(x, cell, tile, d);
}

INLINE void NAME(build)(struct share *s, const struct stage *g, unsigned d)
{
	struct index *x = s->memory;
	uint32_t rows = 0, tiles = 0;

	x->cells = 0;
	NAME(sort)(s, g, d);
	for (uint32_t c = 0; c < x->cells; c++) {
		struct cell *const cell = &x->cell[c];

		cell->row = rows;
		cell->tile = tiles;
		rows += cell->points;
		tiles += (cell->points + TILE - 1) / TILE;
		NAME(tile)(x, cell, d);
	}
}

#undef SPARE_ROW
#undef ROW

#include "solve/kmeans/cells_look.h"

TARGET static void NAME(build_any)(struct share *s, const struct stage *g)
{
	if (g->d == 1)
		NAME(build)(s, g, 1);
	else if (g->d == 2)
		NAME(build)(s, g, 2);
	else
		NAME(build)(s, g, 3);
}

TARGET static void NAME(look_any)(struct index *x, struct cell *cell, const struct stage *g,
				  double pace)
{
	if (g->d == 1)
		NAME(look)(x, cell, g, pace, 1);
	else if (g->d == 2)
		NAME(look)(x, cell, g, pace, 2);
	else
		NAME(look)(x, cell, g, pace, 3);
}

static const struct form NAME(form) = { NAME(build_any), NAME(look_any) };

#if IS_FLOAT
#include "solve/kmeans/cells_assign.h"
#endif

#undef LANE
#undef INLINE
#undef EVERY
#undef EPSILON
