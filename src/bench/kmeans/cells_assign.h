/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An iteration: the tiles that have to be looked at, and the labels of their points. Part of
 * cells_loops.h.
 */
/* The score of centre `id` for the points at p. */
#define SCORE(s, p, id)                                                                  \
	do {                                                                             \
		const REAL *at = centre + (size_t)(id)*d;                                \
                                                                                         \
		(s) = MINUS_PRODUCT(SPLAT(half[id]), V(p), SPLAT(at[0]));                \
		if (d > 1)                                                               \
			(s) = MINUS_PRODUCT(s, V((p) + TILE), SPLAT(at[1]));             \
		if (d > 2)                                                               \
			(s) = MINUS_PRODUCT(s, V((p) + 2 * (size_t)TILE), SPLAT(at[2])); \
	} while (0)

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
 * largest move of a candidate.
 */
INLINE double NAME(approach)(const struct index *x, const struct cell *cell, const struct stage *g,
			     double far, double *first, unsigned d)
{
	const uint32_t *const ids = candidates(x, cell);
	double up = -INFINITY, down = INFINITY;

	for (uint32_t i = 0; i < cell->candidates; i++) {
		const double *const change = x->change + (size_t)ids[i] * (d + 1),
			     moved = g->moved[ids[i]];
		double middle = change[d], beside = 0;

		UNROLL for (unsigned j = 0; j < d; j++)
		{
			middle -= cell->middle[j] * change[j];
			beside += cell->half[j] * fabs(change[j]);
		}
		up = middle + beside > up ? middle + beside : up;
		down = middle - beside < down ? middle - beside : down;
		*first = moved > *first ? moved : *first;
	}
	/* and the rounding of `middle`, of which each term is at most a move times a distance */
	return up > down ? up - down + 32 * DBL_EPSILON * *first * (g->reach + far) : 0;
}

/* Lists in x->due the tiles with a label that may change; returns how many. */
INLINE size_t NAME(survey)(struct index *x, const struct stage *g, uint64_t *computed, unsigned d)
{
	const struct NAME(pace) pace = NAME(columns)(x, g, d);
	struct due *due = x->due;

	for (uint32_t c = 0; c < x->cells; c++) {
		struct cell *const cell = &x->cell[c];
		const REAL *const until = (REAL *)x->until + (size_t)c * x->stride;
		double first = 0;
		uint64_t todo = 0;
		NAME(vector) gone;

		cell->gone += NAME(approach)(x, cell, g, pace.far, &first, d);
		cell->spent += pace.fastest + first;
		if (!(cell->spent <= cell->allowed)) {
			NAME(look)(x, cell, g, pace.fastest + first, d);
			*computed += g->k;
		}
		gone = SPLAT((REAL)(cell->gone * (1 + 2 * EPSILON)));
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
				      left = cell->points - this.tile * TILE;
		REAL *const tile =
			(REAL *)x->tile + ((size_t)cell->first + this.tile) * TILE * (d + 1);
		REAL *const label = tile + (size_t)d * TILE;
		const char *ahead = (const char *)((REAL *)x->tile +
						   ((size_t)x->cell[next.cell].first + next.tile) *
							   TILE * (d + 1));
		NAME(vector) apart = SPLAT(INFINITY);
		REAL old[TILE] __attribute__((aligned(TILE_BYTES)));
		uint32_t changed = 0;
		double until;

		UNROLL for (unsigned j = 0; j <= d; j++)
			__builtin_prefetch(ahead + (size_t)j * TILE_BYTES);
		for (unsigned v = 0; v < TILE; v += LANES) {
			const REAL *p = tile + v;
			uint32_t id = ids[0];
			NAME(vector)
			best, other = SPLAT(INFINITY), which = SPLAT((REAL)id), score,
			      had = V(label + v);

			SCORE(best, p, id);
			for (uint32_t c = 1; c < n; c++) {
				id = ids[c];
				SCORE(score, p, id);
				which = PICK(GREATER(best, score), SPLAT((REAL)id), which);
				other = MIN(other, MAX(best, score));
				best = MIN(score, best);
			}
			changed |= BITS(DIFFER(which, had)) << v;
			apart = MIN(apart, other - best);
			V(old + v) = had;
			V(label + v) = which;
		}
		computed += (uint64_t)n * (left < TILE ? left : TILE);
		until = (double)LEAST(apart) - 4 * g->slack + cell->gone;
		((REAL *)x->until)[(size_t)this.cell * x->stride + this.tile] =
			(REAL)(until * (1 - 4 * EPSILON));
		if (changed)
			NAME(move)
		(&change, g, tile, old, left < TILE ? changed & ((1u << left) - 1) : changed, d);
	}
	*s->change.computed += (int64_t)computed;
}
#undef SCORE
