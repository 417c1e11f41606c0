/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An iteration: the tiles that have to be looked at, and the labels of their points. Part of
 * cells_loops.h.
 */
/* How the centres moved, at most: the largest move, and a centre's largest distance from 0. */
struct NAME(pace) {
	double fastest, far;
};

/* Transposes the centres, padded with centres that are never nearest; notes their changes. */
INLINE struct NAME(pace) NAME(columns)(struct index *x, const struct stage *g, unsigned d)
{
	const REAL *centre = g->centre, *half = g->half;
	double *change = x->change, square = 0;
	struct NAME(pace) pace = { 0 };

	for (uint32_t c = 0; c < x->padded; c++)
		UNROLL for (unsigned j = 0; j <= d; j++)
		{
			REAL *const at = (REAL *)x->column + (size_t)j * x->padded + c, was = *at;

			if (c >= g->k)
				*at = j < d ? 0 : (REAL)INFINITY;
			else
				*at = j < d ? centre[(size_t)c * d + j] : half[c];
			*change++ = (double)*at - (double)was;
		}
	for (unsigned c = 0; c < g->k; c++) {
		pace.fastest = g->moved[c] > pace.fastest ? g->moved[c] : pace.fastest;
		square = (double)half[c] > square ? (double)half[c] : square;
	}
	pace.far = sqrt(2 * square);
	return pace;
}

/*
 * How much nearer the scores of any two of a cell's candidates have come, at most. `first` gets the
 * largest move of a candidate. What all candidates have in common does not count: changes are taken
 * relative to those of the first.
 */
INLINE double NAME(approach)(const struct index *x, const struct cell *cell, const struct stage *g,
			     double far, double *first, unsigned d)
{
	const uint32_t *const ids = candidates(x, cell);
	const double *const common = x->change + (size_t)ids[0] * (d + 1);
	double up = 0, down = 0;

	*first = cell->candidates ? g->moved[ids[0]] : 0;
	for (uint32_t i = 1; i < cell->candidates; i++) {
		const double *const change = x->change + (size_t)ids[i] * (d + 1),
				    moved = g->moved[ids[i]];
		double middle = change[d] - common[d], beside = 0;

		UNROLL for (unsigned j = 0; j < d; j++)
		{
			const double apart = change[j] - common[j];

			middle -= cell->middle[j] * apart;
			beside += cell->half[j] * fabs(apart);
		}
		up = middle + beside > up ? middle + beside : up;
		down = middle - beside < down ? middle - beside : down;
		*first = moved > *first ? moved : *first;
	}
	/* and the rounding of `middle`, of which each term is at most a move times a distance */
	return up > down ? up - down + 64 * DBL_EPSILON * *first * (g->reach + far) : 0;
}

/* Which of a cell's tiles have a label that may change. */
INLINE uint64_t NAME(due)(struct index *x, struct cell *cell, const struct stage *g,
			  struct NAME(pace) pace, uint64_t *computed, unsigned d)
{
	const REAL *const until = (REAL *)x->until + (size_t)(cell - x->cell) * x->stride;
	const uint32_t tiles = (cell->points + TILE - 1) / TILE;
	double first;
	uint64_t due = 0;
	NAME(vector) gone;

	cell->gone += NAME(approach)(x, cell, g, pace.far, &first, d);
	cell->spent += pace.fastest + first;
	if (!(cell->spent <= cell->allowed)) {
		NAME(look)(x, cell, g, pace.fastest + first, d);
		*computed += g->k;
	}
	gone = SPLAT((REAL)(cell->gone * (1 + 2 * EPSILON)));
	for (uint32_t t = 0; t < tiles; t += LANES)
		due |= (uint64_t)(~BITS(GREATER(V(until + t), gone)) & EVERY) << t;
	return due & ~UINT64_C(0) >> (64 - tiles);
}

/*
 * Moves the points of a tile that have a new label. Neighbours mostly move from the same cluster to
 * the same other one: they are added up first.
 */
INLINE void NAME(move)(struct sums *change, const struct stage *g, const REAL *tile,
		       const REAL *old, uint32_t changed, unsigned d)
{
	const REAL *label = tile + (size_t)d * TILE;
	uint64_t term[MOST_DIMENSIONS] = { 0 };
	uint32_t n = 0;

	while (changed) {
		const uint32_t lane = (uint32_t)__builtin_ctz(changed),
			       rest = changed & (changed - 1),
			       next = rest ? (uint32_t)__builtin_ctz(rest) : lane;

		UNROLL for (unsigned j = 0; j < d; j++) term[j] +=
			(uint64_t)sum_term((double)tile[j * TILE + lane], g->scale[j]);
		n++;
		changed = rest;
		if (rest && old[next] == old[lane] && label[next] == label[lane])
			continue;
		sums_move_many(change, n, term, old[lane] < 0 ? SUM_NONE : (uint32_t)old[lane],
			       (uint32_t)label[lane]);
		memset(term, 0, sizeof(term));
		n = 0;
	}
}

/* A candidate, in all lanes. */
struct NAME(rival) {
	NAME(vector) at[MOST_DIMENSIONS], half, id;
};

INLINE struct NAME(rival) NAME(rival)(const struct stage *g, uint32_t id, unsigned d)
{
	const REAL *const centre = (const REAL *)g->centre + (size_t)id * d;
	struct NAME(rival)
		r = { .half = SPLAT(((const REAL *)g->half)[id]), .id = SPLAT((REAL)id) };

	UNROLL for (unsigned j = 0; j < d; j++) r.at[j] = SPLAT(centre[j]);
	return r;
}

/* Of some points: the least score, the second least, and whose the least is. */
struct NAME(nearest) {
	NAME(vector) best, other, which;
};

INLINE NAME(vector) NAME(score)(const REAL *points, struct NAME(rival) r, unsigned d)
{
	NAME(vector) score = r.half;

	UNROLL for (unsigned j = 0; j < d; j++) score =
		MINUS_PRODUCT(score, V(points + (size_t)j * TILE), r.at[j]);
	return score;
}

INLINE void NAME(meet)(struct NAME(nearest) *of, const REAL *points, struct NAME(rival) r,
		       unsigned d)
{
	const NAME(vector) score = NAME(score)(points, r, d);

	of->which = PICK(GREATER(of->best, score), r.id, of->which);
	of->other = MIN(of->other, MAX(of->best, score));
	of->best = MIN(score, of->best);
}

/*
 * Finds the labels of a cell's tiles that are due, among its n candidates; of few, n is a constant.
 * Whether a tile has a new label can't be predicted, so nothing branches on it until all tiles are
 * done: then their points are moved. Returns how many points there are in these tiles.
 */
INLINE uint32_t NAME(tiles)(struct index *x, const struct cell *cell, uint64_t due, uint32_t n,
			    bool few, struct sums *change, const struct stage *g, unsigned d)
{
	const uint32_t *const ids = candidates(x, cell);
	REAL *const tiles = (REAL *)x->tile + (size_t)cell->first * TILE * (d + 1),
		    *const until = (REAL *)x->until + (size_t)(cell - x->cell) * x->stride;
	struct NAME(rival) rival[FEW];
	REAL old[CELL_POINTS + TILE] __attribute__((aligned(TILE_BYTES))); /* labels */
	struct {
		uint32_t tile, points;
	} moved[CELL_POINTS / TILE + 1];
	uint32_t moves = 0, points = 0;

	rival[0] = NAME(rival)(g, ids[0], d);
	if (few)
		UNROLL for (uint32_t i = 1; i < n; i++) rival[i] = NAME(rival)(g, ids[i], d);
	for (; due; due &= due - 1) {
		const uint32_t t = (uint32_t)__builtin_ctzll(due);
		REAL *const tile = tiles + (size_t)t * TILE * (d + 1);
		REAL *const label = tile + (size_t)d * TILE;
		NAME(vector) apart = SPLAT(INFINITY);
		uint32_t changed = 0;
		double least;

		for (unsigned v = 0; v < TILE; v += LANES) {
			const NAME(vector) had = V(label + v);
			struct NAME(nearest) of = { NAME(score)(tile + v, rival[0], d),
						    SPLAT(INFINITY), rival[0].id };

			if (few)
				UNROLL for (uint32_t i = 1; i < n; i++)
					NAME(meet)(&of, tile + v, rival[i], d);
			else
				for (uint32_t i = 1; i < n; i++)
					NAME(meet)(&of, tile + v, NAME(rival)(g, ids[i], d), d);
			changed |= BITS(DIFFER(of.which, had)) << v;
			apart = MIN(apart, of.other - of.best);
			V(old + (size_t)moves * TILE + v) = had;
			V(label + v) = of.which;
		}
		least = (double)LEAST(apart) - 4 * g->slack + cell->gone;
		until[t] = (REAL)(least * (1 - 4 * EPSILON));
		points += TILE;
		if (cell->points - t * TILE < TILE) { /* the rest of the last one is padding */
			changed &= (1u << cell->points % TILE) - 1;
			points -= TILE - cell->points % TILE;
		}
		moved[moves].tile = t;
		moved[moves].points = changed;
		moves += changed != 0;
	}
	for (uint32_t m = 0; m < moves; m++)
		NAME(move)
		(change, g, tiles + (size_t)moved[m].tile * TILE * (d + 1), old + (size_t)m * TILE,
		 moved[m].points, d);
	return points;
}

INLINE void NAME(assign)(struct share *s, const struct stage *g, unsigned d)
{
	struct index *x = s->memory;
	const struct NAME(pace) pace = NAME(columns)(x, g, d);
	struct sums change = s->change;
	uint64_t computed = 0;

	change.d = d;
	for (struct cell *cell = x->cell; cell < x->cell + x->cells; cell++) {
		const uint64_t due = NAME(due)(x, cell, g, pace, &computed, d);
		const uint32_t n = cell->candidates;
		uint32_t points;

		if (!due)
			continue;
		switch (n) {
		case 2:
			points = NAME(tiles)(x, cell, due, 2, true, &change, g, d);
			break;
		case 3:
			points = NAME(tiles)(x, cell, due, 3, true, &change, g, d);
			break;
		case FEW:
			points = NAME(tiles)(x, cell, due, FEW, true, &change, g, d);
			break;
		default:
			points = NAME(tiles)(x, cell, due, n, false, &change, g, d);
		}
		computed += (uint64_t)points * n;
	}
	*s->change.computed += (int64_t)computed;
}
