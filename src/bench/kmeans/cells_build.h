/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Points are sorted into cells, and within a cell into tiles. Part of cells_loops.h.
 */
/* A record: d values, then the point's number in the space of a value. */
#define RECORD(x, i) ((REAL *)(x)->record + (size_t)(i) * (d + 1))
#define SPARE(x, i)  ((REAL *)(x)->spare + (size_t)(i) * (d + 1))
/*
 * The bucket of a value: they begin at `low`, with `per` of them per unit of length, and end with
 * number `last`. NaN and values below `low` go to the first.
 */
INLINE uint32_t NAME(bucket)(REAL value, REAL low, REAL per, REAL last)
{
	const REAL where = (value - low) * per, above = where > 0 ? where : 0;

	return (uint32_t)(int32_t)(above < last ? above : last);
}

/* Divides a box into about `buckets` buckets, which are about as long as wide. Returns how many. */
INLINE uint32_t NAME(grid)(const REAL *low, const REAL *high, unsigned d, double buckets,
			   uint32_t *side, REAL *per)
{
	double extent[MOST_DIMENSIONS] = { 0 };
	uint32_t all = 1;

	UNROLL for (unsigned j = 0; j < d; j++) extent[j] = (double)high[j] - (double)low[j];
	cells_divide(extent, d, buckets, side);
	UNROLL for (unsigned j = 0; j < d; j++)
	{
		per[j] = (REAL)(side[j] / extent[j]);
		/* too thin to be divided in this type */
		if (side[j] == 1 || !(per[j] * (high[j] - low[j]) > 1))
			per[j] = 0;
		all *= side[j];
	}
	return all;
}

/* The box of n records, which are also rows of d + 1 values. */
INLINE void NAME(box)(const REAL *r, size_t n, unsigned d, REAL *low, REAL *high)
{
	const enum real real = _Generic((REAL)0, float : REAL_FLOAT, default : REAL_DOUBLE);
	char scratch[2 * (MOST_DIMENSIONS + 1) * MOST_WIDTH] __attribute__((aligned(MOST_WIDTH)));
	double least[MOST_DIMENSIONS + 1], negated[MOST_DIMENSIONS + 1];

	tiles_choose(real)->box(r, n, d + 1, least, negated, scratch);
	UNROLL for (unsigned j = 0; j < d; j++)
	{
		low[j] = (REAL)least[j];
		high[j] = (REAL)-negated[j];
	}
}

TARGET static void NAME(sort_again)(struct index *x, size_t first, size_t n, unsigned level);

/* The record of point i: made from the given values, or (no origin) a copy of the spare one. */
INLINE void NAME(load)(REAL *r, const struct index *x, size_t i, const REAL *given,
		       const REAL *origin, unsigned d)
{
	const uint32_t number = (uint32_t)i;

	if (!origin) {
		memcpy(r, SPARE(x, i), (d + 1) * sizeof(REAL));
		return;
	}
	UNROLL for (unsigned j = 0; j < d; j++) r[j] = (given[i * d + j] - origin[j]) * origin[d];
	memcpy(&r[d], &number, sizeof(number));
}

/*
 * Counting sort of the n records from `first` on into the buckets of a box; overfull buckets are
 * sorted again, at most MOST_LEVELS deep, and the result is cut into cells. Records are made from
 * the points as given or, without an origin, taken from the spare ones.
 */
INLINE void NAME(sort)(struct index *x, size_t first, size_t n, unsigned level, const REAL *low,
		       const REAL *high, const REAL *given, const REAL *origin, unsigned d)
{
	uint32_t *const end = x->histogram + (size_t)level * (MOST_BUCKETS + 1);
	uint32_t side[MOST_DIMENSIONS], buckets;
	REAL per[MOST_DIMENSIONS], last[MOST_DIMENSIONS], r[MOST_DIMENSIONS + 1];
	size_t begin = first;

	buckets = NAME(grid)(low, high, d, (double)n / x->full * FILL, side, per);
	UNROLL for (unsigned j = 0; j < d; j++) last[j] = (REAL)(int32_t)(side[j] - 1);
	memset(end, 0, (buckets + 1) * sizeof(*end));
	for (size_t i = first; i < first + n; i++) {
		uint32_t bucket;

		NAME(load)(r, x, i, given, origin, d);
		bucket = NAME(bucket)(r[0], low[0], per[0], last[0]);
		UNROLL for (unsigned j = 1; j < d; j++) bucket =
			bucket * side[j] + NAME(bucket)(r[j], low[j], per[j], last[j]);
		x->bucket[i] = (uint16_t)bucket;
		end[bucket + 1]++;
	}
	for (uint32_t b = 1; b < buckets; b++)
		end[b + 1] += end[b];
	for (size_t i = first; i < first + n; i++) { /* turns beginnings into ends */
		REAL *const to = RECORD(x, first + end[x->bucket[i]]++);

		/* each bucket is a stream of its own: too many for the hardware to look ahead */
		__builtin_prefetch((char *)to + TILE_BYTES, 1);
		NAME(load)(to, x, i, given, origin, d);
	}
	for (uint32_t b = 0; b < buckets; b++) {
		const size_t records = first + end[b] - begin;

		if (records <= x->full || records == n || level + 1 == MOST_LEVELS) {
			cells_cut(x, records);
		} else {
			memcpy(SPARE(x, begin), RECORD(x, begin), records * (d + 1) * sizeof(REAL));
			NAME(sort_again)(x, begin, records, level + 1);
		}
		begin += records;
	}
}

INLINE void NAME(sort_boxed)(struct index *x, size_t first, size_t n, unsigned level, unsigned d)
{
	REAL low[MOST_DIMENSIONS], high[MOST_DIMENSIONS];

	NAME(box)(SPARE(x, first), n, d, low, high);
	NAME(sort)(x, first, n, level, low, high, NULL, NULL, d);
}

TARGET static void NAME(sort_again)(struct index *x, size_t first, size_t n, unsigned level)
{
	if (x->d == 1)
		NAME(sort_boxed)(x, first, n, level, 1);
	else if (x->d == 2)
		NAME(sort_boxed)(x, first, n, level, 2);
	else
		NAME(sort_boxed)(x, first, n, level, 3);
}

/*
 * Sorts the records of a cell into tiles, along a path that winds back and forth through slabs,
 * each about as wide as a tile should be long.
 */
INLINE void NAME(tile)(struct index *x, struct cell *cell, const REAL *record, unsigned d)
{
	const uint32_t n = cell->points;
	uint16_t bucket[CELL_POINTS];
	uint32_t begin[2 * CELL_POINTS + 1] = { 0 }, side[MOST_DIMENSIONS], slabs, fine;
	REAL low[MOST_DIMENSIONS], high[MOST_DIMENSIONS], per[MOST_DIMENSIONS],
		last[MOST_DIMENSIONS];
	REAL *const tile = (REAL *)x->tile + (size_t)cell->first * TILE * (d + 1);
	REAL *const until = (REAL *)x->until + (size_t)(cell - x->cell) * x->stride;
	uint32_t *const from = x->from + (size_t)cell->first * TILE,
			room = (n + TILE - 1) / TILE * TILE;
	double square = 0;

	NAME(box)(record, n, d, low, high);
	slabs = NAME(grid)(low, high, d, (double)n / TILE, side, per);
	slabs /= side[d - 1];
	fine = n / slabs + 1;
	per[d - 1] = (REAL)(per[d - 1] * ((REAL)fine / (REAL)side[d - 1]));
	side[d - 1] = fine;
	UNROLL for (unsigned j = 0; j < d; j++) last[j] = (REAL)(int32_t)(side[j] - 1);
	for (uint32_t i = 0; i < n; i++) {
		const REAL *r = record + (size_t)i * (d + 1);
		uint32_t path = 0;

		UNROLL for (unsigned j = 0; j < d; j++)
		{
			const uint32_t step = NAME(bucket)(r[j], low[j], per[j], last[j]),
				       back = -(path & 1);

			/* every other slab backwards */
			path = path * side[j] + ((step ^ back) + (back & side[j]));
		}
		bucket[i] = (uint16_t)path;
		begin[path + 1]++;
		__builtin_prefetch(tile + (size_t)i * (d + 1), 1);
	}
	for (uint32_t b = 1; b < slabs * fine; b++)
		begin[b + 1] += begin[b];
	for (uint32_t i = 0; i < n; i++) {
		const uint32_t to = begin[bucket[i]]++;
		const REAL *r = record + (size_t)i * (d + 1);

		UNROLL for (unsigned j = 0; j < d; j++) LANE(tile, to, j) = r[j];
		memcpy(&from[to], &r[d], sizeof(*from));
	}
	/* pad with copies of the last point, whose labels are not used */
	for (uint32_t to = n; to < room; to++)
		UNROLL for (unsigned j = 0; j < d; j++) LANE(tile, to, j) = LANE(tile, n - 1, j);
	for (uint32_t t = 0; t < x->stride; t++)
		until[t] = t < room / TILE ? -1 : INFINITY;
	for (uint32_t to = 0; to < room; to++)
		LANE(tile, to, d) = -1;
	UNROLL for (unsigned j = 0; j < d; j++)
	{
		const REAL middle = low[j] / 2 + high[j] / 2, above = high[j] - middle,
			   below = middle - low[j];

		cell->middle[j] = (double)middle;
		cell->half[j] = (double)((above > below ? above : below) * (REAL)(1 + 2 * EPSILON));
		square += cell->half[j] * cell->half[j];
	}
	cell->radius = sqrt(square) * (1 + 8 * DBL_EPSILON);
	cell->spent = cell->gone = cell->candidates = 0;
	cell->allowed = -1;
}

INLINE void NAME(build)(struct share *s, const struct stage *g, unsigned d)
{
	struct index *x = s->memory;
	const REAL *record = x->record;
	REAL low[MOST_DIMENSIONS], high[MOST_DIMENSIONS];
	uint32_t tiles = 0;

	x->cells = 0;
	UNROLL for (unsigned j = 0; j < d; j++)
	{
		low[j] = (REAL)g->low[j];
		high[j] = (REAL)g->high[j];
	}
	if (s->n)
		NAME(sort)(x, 0, s->n, 0, low, high, s->x, g->origin, d);
	for (uint32_t c = 0; c < x->cells; c++) {
		x->cell[c].first = tiles;
		tiles += (x->cell[c].points + TILE - 1) / TILE;
		NAME(tile)(x, &x->cell[c], record, d);
		record += (size_t)x->cell[c].points * (d + 1);
	}
}

#undef SPARE
#undef RECORD
