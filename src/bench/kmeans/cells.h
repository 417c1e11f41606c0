/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The loops of the method `cells`: no header, but what cells.c includes once for each instruction
 * set and type, with
 *
 *	NAME(function)         the function's name
 *	TARGET                 the attribute that allows the instructions; empty for those that are
 *                             always there
 *	REAL                   the type of the values
 *	WIDTH                  bytes of a vector
 *	ALL(x)                 a vector of nothing but x
 *	LESS_PRODUCT(s, x, c)  s - x * c, rounded once where there is an instruction for it
 *	MIN(a, b), MAX(a, b)   of each two values
 *	GREATER(a, b), DIFFER(a, b)  a mask: where a > b, where a != b
 *	PICK(mask, a, b)       a where the mask is set, else b
 *	BITS(mask)             as an integer: the first value's bit is the lowest
 *	LEAST(a)               of all values of a vector
 *
 * Vectors are written out, and nothing that has vectors as arguments is a function, as in
 * bench/numa/loops.h. Dimensions are constants: what is INLINE is called with 1, 2 and 3.
 */
#define LANES ((unsigned)(WIDTH / sizeof(REAL)))
#define TILE  ((unsigned)(TILE_BYTES / sizeof(REAL)))
#define EVERY ((1u << LANES) - 1)

#define EPSILON _Generic((REAL)0, float : (double)FLT_EPSILON, default : DBL_EPSILON)
#define MOVE	_Generic((REAL)0, float : sums_move_float, default : sums_move_double)
#define INLINE	TARGET static inline __attribute__((always_inline))

typedef REAL NAME(vector) __attribute__((vector_size(WIDTH), may_alias));
#define V(address) (*(NAME(vector) *)(address))

/* A record: d values, and in the place of one more the number of the point. */
#define RECORD(x, i) ((REAL *)(x)->record + (size_t)(i) * (d + 1))
#define SPARE(x, i)  ((REAL *)(x)->spare + (size_t)(i) * (d + 1))
/* Value j of the i-th point of a cell's tiles; j = d: its label. */
#define LANE(tile, i, j) (tile)[((size_t)((i) / TILE) * (d + 1) + (j)) * TILE + (i) % TILE]

/* ---- build ---- */

/*
 * The bucket of a value, of `side` that begin at `low`, `per` to the unit of length. NaN and what
 * is below are in the first.
 */
#define BUCKET(value, low, per, side) NAME(bucket)(((value) - (low)) * (per), (side)-1)
INLINE uint32_t NAME(bucket)(REAL where, uint32_t last)
{
	const REAL above = where > 0 ? where : 0;

	return (uint32_t)(int32_t)(above < (REAL)(int32_t)last ? above : (REAL)(int32_t)last);
}

/* A grid of about so many buckets, about as long as wide, over a box. Returns how many they are. */
INLINE uint32_t NAME(grid)(const REAL *low, const REAL *high, unsigned d, double buckets,
			   uint32_t *side, REAL *per)
{
	double extent[MOST_DIMENSIONS];
	uint32_t all = 1;

	UNROLL for (unsigned j = 0; j < d; j++) extent[j] = (double)high[j] - (double)low[j];
	divide(extent, d, buckets, side);
	UNROLL for (unsigned j = 0; j < d; j++)
	{
		per[j] = (REAL)(side[j] / extent[j]);
		/* too thin to be cut in this type */
		if (side[j] == 1 || !(per[j] * (high[j] - low[j]) > 1))
			per[j] = 0;
		all *= side[j];
	}
	return all;
}

INLINE void NAME(box)(const REAL *r, size_t n, unsigned d, REAL *low, REAL *high)
{
	UNROLL for (unsigned j = 0; j < d; j++) low[j] = high[j] = r[j];
	for (; n; n--, r += d + 1)
		UNROLL for (unsigned j = 0; j < d; j++)
		{
			low[j] = r[j] < low[j] ? r[j] : low[j];
			high[j] = r[j] > high[j] ? r[j] : high[j];
		}
}

TARGET static void NAME(sort_again)(struct index *x, size_t first, size_t n, unsigned level);

/* The record of point i, which is made now, or was put aside. */
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
 * Sorts the n records from `first` on by buckets of a box; those in too full ones, again, LEVELS
 * deep at most. What comes out is cut into cells. They are the points as given; or, without an
 * origin, the spare ones.
 */
INLINE void NAME(sort)(struct index *x, size_t first, size_t n, unsigned level, const REAL *low,
		       const REAL *high, const REAL *given, const REAL *origin, unsigned d)
{
	uint32_t *const end = x->histogram + (size_t)level * (MOST_BUCKETS + 1);
	uint32_t side[MOST_DIMENSIONS], buckets;
	REAL per[MOST_DIMENSIONS], r[MOST_DIMENSIONS + 1];
	size_t begin = first;

	buckets = NAME(grid)(low, high, d, (double)n / x->full * FILL, side, per);
	memset(end, 0, (buckets + 1) * sizeof(*end));
	for (size_t i = first; i < first + n; i++) {
		uint32_t bucket;

		NAME(load)(r, x, i, given, origin, d);
		bucket = BUCKET(r[0], low[0], per[0], side[0]);
		UNROLL for (unsigned j = 1; j < d; j++) bucket =
			bucket * side[j] + BUCKET(r[j], low[j], per[j], side[j]);
		x->bucket[i] = (uint16_t)bucket;
		end[bucket + 1]++;
	}
	for (uint32_t b = 1; b < buckets; b++)
		end[b + 1] += end[b];
	for (size_t i = first; i < first + n; i++) /* makes of each beginning an end */
		NAME(load)(RECORD(x, first + end[x->bucket[i]]++), x, i, given, origin, d);
	for (uint32_t b = 0; b < buckets; b++) {
		const size_t here = first + end[b] - begin;

		if (here <= x->full || here == n || level + 1 == LEVELS) {
			cut(x, here);
		} else {
			memcpy(SPARE(x, begin), RECORD(x, begin), here * (d + 1) * sizeof(REAL));
			NAME(sort_again)(x, begin, here, level + 1);
		}
		begin += here;
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
 * Puts the n records of a cell into tiles, along a path that winds through slabs as wide as a tile
 * should be long.
 */
INLINE void NAME(tile)(struct index *x, struct cell *cell, const REAL *record, unsigned d)
{
	const uint32_t n = cell->points;
	uint16_t bucket[CELL_POINTS];
	uint32_t begin[2 * CELL_POINTS + 1] = { 0 }, side[MOST_DIMENSIONS], slabs, fine;
	REAL low[MOST_DIMENSIONS], high[MOST_DIMENSIONS], per[MOST_DIMENSIONS];
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
	for (uint32_t i = 0; i < n; i++) {
		const REAL *r = record + (size_t)i * (d + 1);
		uint32_t path = 0;

		UNROLL for (unsigned j = 0; j < d; j++)
		{
			const uint32_t most = j == d - 1 ? fine : side[j],
				       step = BUCKET(r[j], low[j], per[j], most),
				       back = -(path & 1);

			/* every other time backwards */
			path = path * most + ((step ^ back) + (back & most));
		}
		bucket[i] = (uint16_t)path;
		begin[path + 1]++;
	}
	for (uint32_t b = 1; b < slabs * fine; b++)
		begin[b + 1] += begin[b];
	for (uint32_t i = 0; i < n; i++) {
		const uint32_t to = begin[bucket[i]]++;
		const REAL *r = record + (size_t)i * (d + 1);

		UNROLL for (unsigned j = 0; j < d; j++) LANE(tile, to, j) = r[j];
		memcpy(&from[to], &r[d], sizeof(*from));
	}
	for (uint32_t to = n; to < room; to++) /* as the last one; nobody asks for its label */
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

/* ---- assign ---- */

/*
 * Finds the centres that may be the nearest one of some point in the cell's box, and how far they
 * may move until that has to be done again. The difference of two centres' scores is linear in the
 * point, so its least value in the box is known from that in the middle.
 */
INLINE void NAME(look)(struct index *x, struct cell *cell, const struct stage *g, double pace,
		       unsigned d)
{
	const REAL *centre = g->centre, *column = x->column, *half = column + (size_t)d * x->padded;
	REAL *const score = x->score,
		    *until = (REAL *)x->until + (size_t)(cell - x->cell) * x->stride;
	uint32_t *const list = x->list + (size_t)(cell - x->cell) * x->most;
	uint32_t was[MOST_CANDIDATES], before = cell->candidates, found = 0, o = 0;
	const uint32_t *ids;
	const double root = 2.001 * sqrt(g->slack);
	double square = 0, far, allow, enter = INFINITY, most;
	NAME(vector) least = ALL(INFINITY), others = least, limit, lowest;
	REAL lead;
	uint32_t star = 0, near;

	for (uint32_t c = 0; c < x->padded; c += LANES) {
		NAME(vector) s = V(half + c);

		UNROLL for (unsigned j = 0; j < d; j++) s = LESS_PRODUCT(
			s, ALL((REAL)cell->middle[j]), V(column + (size_t)j * x->padded + c));
		V(score + c) = s;
		least = MIN(least, s);
	}
	lead = LEAST(least);
	lowest = ALL(lead);
	for (near = 0;
	     star < x->padded && !(near = ~BITS(GREATER(V(score + star), lowest)) & EVERY);
	     star += LANES)
		;
	star += near ? (uint32_t)__builtin_ctz(near) : 0;
	if (star >= g->k) /* no numbers */
		star = 0;
	UNROLL for (unsigned j = 0; j < d; j++)
	{
		const double apart = (double)centre[(size_t)star * d + j] - cell->middle[j];

		square += apart * apart;
	}
	/* no point is farther from its nearest centre */
	far = sqrt(square) * (1 + 8 * DBL_EPSILON) + cell->radius;
	most = fmax(cell->radius, far / 8) / 2;
	allow = g->iteration ? fmin(fmax(pace * AHEAD, most / 10), most) : most;
	allow += root;
	limit = ALL((REAL)((allow * far + allow * allow / 2 + 8 * g->slack) * (1 + 4 * EPSILON)));
	memcpy(was, list, (before <= x->most ? before : 0) * sizeof(*was));
	for (uint32_t c = 0; c < x->padded; c += LANES) {
		NAME(vector) s = V(score + c) - lowest, apart;

		UNROLL for (unsigned j = 0; j < d; j++)
		{
			apart = V(column + (size_t)j * x->padded + c) -
				ALL(centre[(size_t)star * d + j]);
			apart = MAX(apart, -apart);
			s = LESS_PRODUCT(s, apart, ALL((REAL)cell->half[j]));
		}
		V(score + c) = s;
		/* so that it holds for what is no number, too */
		near = ~BITS(GREATER(s, limit)) & EVERY;
		others = MIN(others, PICK(GREATER(s, limit), s, ALL(INFINITY)));
		for (; near; near &= near - 1) {
			const uint32_t id = c + (uint32_t)__builtin_ctz(near);

			if (id >= g->k)
				break;
			if (found < x->most)
				list[found] = id;
			found++;
		}
	}
	if (found > x->most)
		found = g->k;
	cell->candidates = found;
	ids = found > x->most ? x->all : list;
	/* What was no candidate before could become the nearest now, but not at once. */
	for (uint32_t i = 0; i < found && before <= x->most; i++) {
		while (o < before && was[o] < ids[i])
			o++;
		if (o == before || was[o] != ids[i])
			enter = fmin(enter, (double)score[ids[i]]);
	}
	enter = enter > 4 * g->slack
			? sqrt(far * far + 2 * (enter - 4 * g->slack)) * (1 - 4 * DBL_EPSILON) -
				  far - root
			: -1;
	for (uint32_t t = 0; t * TILE < cell->points; t++) {
		const double left = (double)until[t] - cell->gone;

		until[t] = (REAL)((left > enter ? enter : left) * (1 - 4 * EPSILON));
	}
	cell->gone = cell->spent = 0;
	allow = sqrt(far * far + 2 * ((double)LEAST(others) * (1 - 4 * EPSILON) - 4 * g->slack)) *
			(1 - 4 * DBL_EPSILON) -
		far - root;
	cell->allowed = allow > most ? most : allow;
	cell->cap = most;
	cell->slope = far > 0 ? (1 - 8 * EPSILON) / (far + 1.5 * most) : 0;
}

/* The score of centre `id` for the points at p. */
#define SCORE(s, p, id)                                                               \
	do {                                                                          \
		const REAL *at = centre + (size_t)(id)*d;                             \
                                                                                      \
		(s) = LESS_PRODUCT(ALL(half[id]), V(p), ALL(at[0]));                  \
		if (d > 1)                                                            \
			(s) = LESS_PRODUCT(s, V((p) + TILE), ALL(at[1]));             \
		if (d > 2)                                                            \
			(s) = LESS_PRODUCT(s, V((p) + 2 * (size_t)TILE), ALL(at[2])); \
	} while (0)

/*
 * Centres by dimension, and behind them what never is nearest. Returns how far the fastest one
 * moved.
 */
INLINE double NAME(columns)(struct index *x, const struct stage *g, unsigned d)
{
	const REAL *centre = g->centre, *half = g->half;
	REAL *const column = x->column;
	double fastest = 0;

	for (uint32_t c = 0; c < x->padded; c++) {
		UNROLL for (unsigned j = 0; j < d; j++) column[(size_t)j * x->padded + c] =
			c < g->k ? centre[(size_t)c * d + j] : 0;
		column[(size_t)d * x->padded + c] = c < g->k ? half[c] : (REAL)INFINITY;
	}
	for (unsigned c = 0; c < g->k; c++)
		fastest = g->moved[c] > fastest ? g->moved[c] : fastest;
	return fastest;
}

/* Lists the tiles that have to be looked at. */
INLINE size_t NAME(survey)(struct index *x, const struct stage *g, uint64_t *computed, unsigned d)
{
	const double fastest = NAME(columns)(x, g, d);
	const double root = 2.001 * sqrt(g->slack);
	struct due *due = x->due;

	for (uint32_t c = 0; c < x->cells; c++) {
		struct cell *const cell = &x->cell[c];
		const uint32_t *const ids = candidates(x, cell);
		const REAL *const until = (REAL *)x->until + (size_t)c * x->stride;
		double first = 0, second = 0;
		uint64_t todo = 0;
		NAME(vector) gone;

		for (uint32_t i = 0; i < cell->candidates; i++) {
			const double moved = g->moved[ids[i]],
				     lesser = moved < first ? moved : first;

			second = lesser > second ? lesser : second;
			first = moved > first ? moved : first;
		}
		cell->gone += first + second;
		cell->spent += fastest + first;
		if (!(cell->spent <= cell->allowed)) {
			NAME(look)(x, cell, g, fastest + first, d);
			*computed += g->k;
		}
		cell->base = cell->gone - root - 8 * EPSILON * (cell->gone + cell->cap + root);
		cell->limit = cell->base + cell->cap;
		cell->base -= 2 * g->slack * cell->slope;
		gone = ALL((REAL)(cell->gone * (1 + 2 * EPSILON)));
		for (uint32_t t = 0; t * TILE < cell->points; t += LANES)
			todo |= (uint64_t)(~BITS(GREATER(V(until + t), gone)) & EVERY) << t;
		for (; todo; todo &= todo - 1)
			*due++ = (struct due){ c, (uint32_t)__builtin_ctzll(todo) };
	}
	return (size_t)(due - x->due);
}

/* Moves the points of a tile that have a new label. */
INLINE void NAME(move)(struct sums *change, const struct stage *g, const REAL *tile,
		       const REAL *old, uint32_t changed, unsigned d)
{
	const REAL *label = tile + (size_t)d * TILE;

	for (; changed; changed &= changed - 1) {
		const uint32_t lane = (uint32_t)__builtin_ctz(changed);
		REAL point[MOST_DIMENSIONS];

		UNROLL for (unsigned j = 0; j < d; j++) point[j] = tile[j * TILE + lane];
		MOVE(change, point, g->scale, old[lane] < 0 ? SUM_NONE : (uint32_t)old[lane],
		     (uint32_t)label[lane]);
	}
}

INLINE void NAME(assign)(struct share *s, const struct stage *g, unsigned d)
{
	struct index *x = s->memory;
	const REAL *centre = g->centre, *half = g->half;
	uint64_t computed = 0;
	const size_t due = NAME(survey)(x, g, &computed, d);
	struct sums change = s->change;

	change.d = d;
	for (size_t i = 0; i < due; i++) {
		const struct due next = x->due[i + 6 < due ? i + 6 : i], this = x->due[i];
		struct cell *const cell = &x->cell[this.cell];
		const uint32_t *const ids = candidates(x, cell), n = cell->candidates,
				      here = cell->points - this.tile * TILE;
		REAL *const tile =
			(REAL *)x->tile + ((size_t)cell->first + this.tile) * TILE * (d + 1);
		REAL *const label = tile + (size_t)d * TILE;
		const char *ahead = (const char *)((REAL *)x->tile +
						   ((size_t)x->cell[next.cell].first + next.tile) *
							   TILE * (d + 1));
		NAME(vector) apart = ALL(INFINITY);
		REAL old[TILE] __attribute__((aligned(TILE_BYTES)));
		uint32_t changed = 0;
		double until;

		UNROLL for (unsigned j = 0; j <= d; j++)
			__builtin_prefetch(ahead + (size_t)j * TILE_BYTES);
		for (unsigned v = 0; v < TILE; v += LANES) {
			const REAL *p = tile + v;
			uint32_t id = ids[0];
			NAME(vector)
			best, other = ALL(INFINITY), which = ALL((REAL)id), score,
			      had = V(label + v);

			SCORE(best, p, id);
			for (uint32_t c = 1; c < n; c++) {
				id = ids[c];
				SCORE(score, p, id);
				which = PICK(GREATER(best, score), ALL((REAL)id), which);
				other = MIN(other, MAX(best, score));
				best = MIN(score, best);
			}
			changed |= BITS(DIFFER(which, had)) << v;
			apart = MIN(apart, other - best);
			V(old + v) = had;
			V(label + v) = which;
		}
		computed += (uint64_t)n * (here < TILE ? here : TILE);
		until = (double)LEAST(apart) * cell->slope + cell->base;
		/* what is no number stays none */
		until = until > cell->limit ? cell->limit : until;
		((REAL *)x->until)[(size_t)this.cell * x->stride + this.tile] = (REAL)until;
		if (changed)
			NAME(move)
		(&change, g, tile, old, here < TILE ? changed & ((1u << here) - 1) : changed, d);
	}
	*s->change.computed += (int64_t)computed;
}
#undef SCORE

INLINE void NAME(labels)(struct share *s, unsigned d)
{
	const struct index *x = s->memory;

	for (const struct cell *cell = x->cell; cell < x->cell + x->cells; cell++) {
		const REAL *tile = (const REAL *)x->tile + (size_t)cell->first * TILE * (d + 1);
		const uint32_t *from = x->from + (size_t)cell->first * TILE;

		for (uint32_t i = 0; i < cell->points; i++)
			s->label[from[i]] = (uint32_t)LANE(tile, i, d);
	}
}

/* ---- by dimensions ---- */

TARGET static void NAME(build_any)(struct share *s, const struct stage *g)
{
	if (g->d == 1)
		NAME(build)(s, g, 1);
	else if (g->d == 2)
		NAME(build)(s, g, 2);
	else
		NAME(build)(s, g, 3);
}

TARGET static void NAME(assign_any)(struct share *s, const struct stage *g)
{
	if (g->d == 1)
		NAME(assign)(s, g, 1);
	else if (g->d == 2)
		NAME(assign)(s, g, 2);
	else
		NAME(assign)(s, g, 3);
}

TARGET static void NAME(labels_any)(struct share *s, const struct stage *g)
{
	if (g->d == 1)
		NAME(labels)(s, 1);
	else if (g->d == 2)
		NAME(labels)(s, 2);
	else
		NAME(labels)(s, 3);
}

static const struct form NAME(form) = { NAME(build_any), NAME(assign_any), NAME(labels_any) };

#undef SPARE
#undef RECORD
#undef BUCKET
#undef V
#undef INLINE
#undef EVERY
#undef TILE
#undef LANE
#undef LANES
#undef NAME
#undef REAL
#undef MOVE
#undef EPSILON
#undef LEAST
#undef ALL
#undef LESS_PRODUCT
#undef MIN
#undef MAX
#undef GREATER
#undef DIFFER
#undef PICK
#undef BITS
#undef WIDTH
#undef TARGET
