/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An iteration: the tiles that must be examined, and the labels of their points. Part of
 * cells_build.h, for floats, which tiles consist of. INLINE functions are called with `real` and d
 * = 1, 2 and 3 as constants.
 */

/*
 * The most by which the scores of two candidates of a cell have approached each other. `first` gets
 * the largest move of a candidate. Changes are relative to the first candidate's, so a common
 * change does not count.
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
	/* and the rounding of `middle`, each term of which is at most a move times a distance */
	return up > down ? up - down + 64 * DBL_EPSILON * *first * (g->reach + far) : 0;
}

/* Which of a cell's tiles have a label that may change. */
INLINE uint64_t NAME(due)(struct index *x, struct cell *cell, const struct stage *g,
			  struct pace pace, uint64_t *computed, unsigned d)
{
	const float *const until = x->until + (size_t)(cell - x->cell) * x->stride;
	const uint32_t tiles = (cell->points + TILE - 1) / TILE;
	double first;
	uint64_t due = 0;
	NAME(vector) gone;

	cell->gone += NAME(approach)(x, cell, g, pace.far, &first, d);
	cell->spent += pace.fastest + first;
	if (!(cell->spent <= cell->allowed)) {
		x->form->look(x, cell, g, pace.fastest + first);
		*computed += g->k;
	}
	gone = SPLAT((float)cell->gone * (1 + 2 * FLT_EPSILON));
	for (uint32_t t = 0; t < tiles; t += LANES)
		due |= (uint64_t)(~BITS(GREATER(V(until + t), gone)) & EVERY) << t;
	return due & ((UINT64_C(1) << tiles) - 1);
}

/*
 * Writes a cell's candidates as floats: values and half square of each; for doubles, relative to
 * the cell's middle.
 */
INLINE void NAME(rivals)(const struct index *x, const struct cell *cell, const struct stage *g,
			 enum real real, unsigned d)
{
	const uint32_t *const ids = candidates(x, cell);

	for (uint32_t i = 0; i < cell->candidates; i++) {
		float *const rival = x->rival + (size_t)i * (d + 1);
		double square = 0;

		UNROLL for (unsigned j = 0; j < d; j++)
		{
			const double value = real_get(real, g->centre, (size_t)ids[i] * d + j),
				     apart = value - cell->middle[j];

			rival[j] = (float)(real == REAL_FLOAT ? value : apart);
			square += apart * apart;
		}
		rival[d] =
			(float)(real == REAL_FLOAT ? real_get(real, g->half, ids[i]) : square / 2);
	}
}

/* A candidate, in all lanes. */
struct NAME(rival) {
	NAME(vector) at[MOST_DIMENSIONS], half, id;
};

INLINE struct NAME(rival) NAME(rival)(const float *rival, uint32_t id, unsigned d)
{
	struct NAME(rival) r = { .half = SPLAT(rival[d]), .id = SPLAT((float)id) };

	UNROLL for (unsigned j = 0; j < d; j++) r.at[j] = SPLAT(rival[j]);
	return r;
}

/* A vector of points' least scores, second least scores, and centres with the least. */
struct NAME(nearest) {
	NAME(vector) best, other, which;
};

INLINE NAME(vector) NAME(score)(const float *points, struct NAME(rival) r, unsigned d)
{
	NAME(vector) score = r.half;

	UNROLL for (unsigned j = 0; j < d; j++) score =
		MINUS_PRODUCT(score, V(points + (size_t)j * TILE), r.at[j]);
	return score;
}

INLINE void NAME(meet)(struct NAME(nearest) * of, const float *points, struct NAME(rival) r,
		       unsigned d)
{
	const NAME(vector) score = NAME(score)(points, r, d);

	of->which = PICK(GREATER(of->best, score), r.id, of->which);
	of->other = MIN(of->other, MAX(of->best, score));
	of->best = MIN(score, of->best);
}

/*
 * Lists a tile, if it has points with a new label, or with a possible one. Returns the list's end.
 */
INLINE struct tile *NAME(note)(struct tile *next, const struct cell *cell, uint32_t t,
			       uint32_t used, uint32_t changed, uint32_t unsure)
{
	next->cell = cell;
	next->number = t;
	next->changed = changed & used;
	next->unsure = unsure & used;
	return next + (((changed | unsure) & used) != 0);
}

/*
 * Finds the labels of a cell's due tiles, among its n candidates; if they are few, n is a constant.
 * Whether a tile has a new label cannot be predicted, so nothing branches on it: from `next` on,
 * tiles with a new or possible new label are listed. Returns the end of the list.
 */
INLINE struct tile *NAME(tiles)(struct index *x, const struct cell *cell, uint64_t due, uint32_t n,
				bool few, struct tile *next, const struct stage *g, enum real real,
				unsigned d)
{
	const uint32_t *const ids = candidates(x, cell);
	const double left = cell->gone - cell->margin;
	const float sure = (float)cell->margin * (1 + FLT_EPSILON),
		    lowered = (float)(left - FLT_EPSILON * fabs(left));
	const uint32_t last = cell->points - 1; /* point; what follows it in its tile is padding */
	float *const until = x->until + (size_t)(cell - x->cell) * x->stride;
	float *const first = tile_of(x, cell, 0, d);
	struct NAME(rival) rival[FEW];

	NAME(rivals)(x, cell, g, real, d);
	rival[0] = NAME(rival)(x->rival, ids[0], d);
	if (few)
		UNROLL for (uint32_t i = 1; i < n; i++) rival[i] =
			NAME(rival)(x->rival + (size_t)i * (d + 1), ids[i], d);
	for (; due; due &= due - 1) {
		const uint32_t t = (uint32_t)__builtin_ctzll(due);
		float *const tile = first + (size_t)t * TILE * (d + 1);
		float *const label = tile + (size_t)d * TILE;
		NAME(vector) apart = SPLAT(INFINITY), gap[TILE / LANES];
		uint32_t changed = 0, unsure = 0, used;
		float nearest;

		for (unsigned v = 0; v < TILE; v += LANES) {
			const NAME(vector) had = V(label + v);
			struct NAME(nearest) near = { NAME(score)(tile + v, rival[0], d),
						      SPLAT(INFINITY), rival[0].id };

			if (few)
				UNROLL for (uint32_t i = 1; i < n; i++)
					NAME(meet)(&near, tile + v, rival[i], d);
			else
				for (uint32_t i = 1; i < n; i++)
					NAME(meet)
			(&near, tile + v, NAME(rival)(x->rival + (size_t)i * (d + 1), ids[i], d),
			 d);
			gap[v / LANES] = near.other - near.best;
			changed |= BITS(DIFFER(near.which, had)) << v;
			apart = MIN(apart, gap[v / LANES]);
			V(next->old + v) = had;
			V(label + v) = near.which;
		}
		nearest = LEAST(apart);
		if (!(nearest > sure)) { /* few tiles, so this can be predicted */
			for (unsigned v = 0; v < TILE; v += LANES)
				unsure |= (~BITS(GREATER(gap[v / LANES], SPLAT(sure))) & EVERY)
					  << v;
			if (real == REAL_FLOAT)
				fetch_rows(x, cell, t, unsure, d * sizeof(float));
		}
		until[t] = (nearest + lowered) * (1 - 4 * FLT_EPSILON);
		used = t == last / TILE ? (2u << last % TILE) - 1 : (1u << TILE) - 1;
		next = NAME(note)(next, cell, t, used, changed, unsure);
	}
	return next;
}

/*
 * Moves the points of a tile that have a new label. Neighbours mostly move between the same two
 * clusters: they are added up first.
 */
INLINE void NAME(move)(struct sums *change, const struct stage *g, const struct index *x,
		       const struct tile *of, enum real real, unsigned d)
{
	const float *const tile = tile_of(x, of->cell, of->number, d);
	const float *const label = tile + (size_t)d * TILE;
	const double *const origin = g->origin;
	const size_t bytes = d * sizeof(double);
	const double *const row =
		real == REAL_DOUBLE ? given_of(x, of->cell, of->number, bytes) : NULL;
	uint64_t term[MOST_DIMENSIONS] = { 0 };
	uint32_t n = 0, rest = of->changed, lane = rest ? (uint32_t)__builtin_ctz(rest) : 0, next;

	for (; rest; lane = next) {
		rest &= rest - 1;
		next = rest ? (uint32_t)__builtin_ctz(rest) : lane;
		UNROLL for (unsigned j = 0; j < d; j++)
		{
			const double value =
				real == REAL_FLOAT
					? (double)tile[j * TILE + lane]
					: (row[(size_t)lane * d + j] - origin[j]) * origin[d];

			term[j] += (uint64_t)sum_term(value, g->scale[j]);
		}
		n++;
		if (rest && same(of->old + next, of->old + lane) &&
		    same(label + next, label + lane))
			continue;
		sums_move_many(change, n, term,
			       of->old[lane] < 0 ? SUM_NONE : (uint32_t)of->old[lane],
			       (uint32_t)label[lane]);
		memset(term, 0, sizeof(term));
		n = 0;
	}
}

INLINE void NAME(assign)(struct share *s, const struct stage *g, enum real real, unsigned d)
{
	struct index *x = s->memory;
	const struct pace pace = columns(x, g);
	struct sums change = s->change;
	struct tile list[MOST_LISTED + CELL_POINTS / TILE + 1], *end = list;
	uint64_t computed = 0;

	change.d = d;
	for (struct cell *cell = x->cell;; cell++) {
		const bool last = cell == x->cell + x->cells;
		uint64_t due;
		uint32_t n;

		if (last || end >= list + MOST_LISTED) {
			for (const struct tile *t = list; real == REAL_DOUBLE && t < end; t++)
				fetch_rows(x, t->cell, t->number, t->changed | t->unsure,
					   d * sizeof(double));
			for (struct tile *t = list; t < end; t++) {
				if (t->unsure)
					settle(x, g, t);
				NAME(move)(&change, g, x, t, real, d);
			}
			end = list;
		}
		if (last)
			break;
		due = NAME(due)(x, cell, g, pace, &computed, d);
		if (!due)
			continue;
		n = cell->candidates;
		switch (n) {
		case 2:
			end = NAME(tiles)(x, cell, due, 2, true, end, g, real, d);
			break;
		case 3:
			end = NAME(tiles)(x, cell, due, 3, true, end, g, real, d);
			break;
		case FEW:
			end = NAME(tiles)(x, cell, due, FEW, true, end, g, real, d);
			break;
		default:
			end = NAME(tiles)(x, cell, due, n, false, end, g, real, d);
		}
		computed += (uint64_t)points_of(cell, due) * n;
	}
	*s->change.computed += (int64_t)computed;
}

#define ASSIGN(d)                                                  \
	(g->real == REAL_FLOAT ? NAME(assign)(s, g, REAL_FLOAT, d) \
			       : NAME(assign)(s, g, REAL_DOUBLE, d))
TARGET static void NAME(assign_any)(struct share *s, const struct stage *g)
{
	if (g->d == 1)
		ASSIGN(1);
	else if (g->d == 2)
		ASSIGN(2);
	else
		ASSIGN(3);
}
#undef ASSIGN
