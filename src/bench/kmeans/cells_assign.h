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

/*
 * Transposes the centres, padded with centres that are never nearest. Returns the largest move of a
 * centre.
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

/* Lists in x->due the tiles with a label that may change; returns how many. */
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
		until = (double)LEAST(apart) * cell->slope + cell->base;
		/* the comparison keeps NaN */
		until = until > cell->limit ? cell->limit : until;
		((REAL *)x->until)[(size_t)this.cell * x->stride + this.tile] = (REAL)until;
		if (changed)
			NAME(move)
		(&change, g, tile, old, left < TILE ? changed & ((1u << left) - 1) : changed, d);
	}
	*s->change.computed += (int64_t)computed;
}
#undef SCORE
