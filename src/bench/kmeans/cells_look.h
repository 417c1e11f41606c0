/* SPDX-License-Identifier: Apache-2.0 */
/* The candidates of a cell. Part of cells_loops.h. */
/*
 * How much lower the least score of a point of a cell, as tiles compute it, must be than those of
 * all other candidates, so that its centre is the nearest: what two scores are off by (frame.c),
 * with these points and candidates, until each has moved by `move`; and what frame.c has for
 * distances. For doubles, tiles are relative to the cell's middle, and what the points' own
 * coordinates are off by comes on top. Without roots: |c|^2 / 2 + |x||c| <= |c|^2 + |x|^2 / 2, and
 * (|c| + move)^2 <= 5/4 |c|^2 + 5 move^2.
 */
INLINE double NAME(margin)(const struct index *x, const struct cell *cell, const struct stage *g,
			   double move, unsigned d)
{
	const uint32_t *const ids = candidates(x, cell);
	const REAL *const column = x->column;
	double far = 0, reach = 0;

	for (uint32_t i = 0; i < cell->candidates; i++) {
		double square = 0;

		UNROLL for (unsigned j = 0; j < d && !IS_FLOAT; j++)
		{
			const double apart =
				(double)column[(size_t)j * x->padded + ids[i]] - cell->middle[j];

			square += apart * apart;
		}
		if (IS_FLOAT)
			square = 2 * (double)column[(size_t)d * x->padded + ids[i]];
		far = square > far ? square : far;
	}
	UNROLL for (unsigned j = 0; j < d; j++)
	{
		const double most = (IS_FLOAT ? fabs(cell->middle[j]) : 0) + cell->half[j];

		reach += most * most;
	}
	far = 1.25 * far + 5 * move * move;
	return 1.01 * (d + 4) * (FLT_EPSILON * (far + reach / 2) + FLT_MIN) +
	       (IS_FLOAT ? 0x1p-28 * g->slack : g->margin);
}

/*
 * Finds the centres that may be nearest to some point in the cell's box, and how far centres may
 * move until the search must be repeated. `pace`: the present move per iteration. The difference of
 * two centres' scores is linear in the point, so its minimum over the box follows from its value in
 * the middle.
 */
INLINE void NAME(look)(struct index *x, struct cell *cell, const struct stage *g, double pace,
		       unsigned d)
{
	const REAL *centre = g->centre, *column = x->column, *half = column + (size_t)d * x->padded;
	REAL *const score = x->score;
	float *const until = x->until + (size_t)(cell - x->cell) * x->stride;
	float gone, enters, rise;
	uint32_t *const list = x->list + (size_t)(cell - x->cell) * x->most;
	uint32_t was[MOST_CANDIDATES], before = cell->candidates, found = 0, o = 0;
	const uint32_t *ids;
	const double root = 3 * sqrt((d + 4) * EPSILON * g->slack), margin = cell->margin;
	double square = 0, far, allow, enter = INFINITY, most;
	NAME(vector) least = SPLAT(INFINITY), others = least, where = SPLAT(0), limit, lowest;
	REAL lead;
	uint32_t star, near;

	for (uint32_t c = 0; c < x->padded; c += LANES) {
		NAME(vector) s = V(half + c);

		UNROLL for (unsigned j = 0; j < d; j++) s = MINUS_PRODUCT(
			s, SPLAT((REAL)cell->middle[j]), V(column + (size_t)j * x->padded + c));
		V(score + c) = s;
		where = PICK(GREATER(least, s), SPLAT((REAL)c), where);
		least = MIN(s, least);
	}
	lead = LEAST(least);
	lowest = SPLAT(lead);
	near = ~BITS(GREATER(least, lowest)) & EVERY;
	star = (uint32_t)__builtin_ctz(near);
	star += (uint32_t)((const REAL *)&where)[star];
	if (star >= g->k) /* all NaN */
		star = 0;
	UNROLL for (unsigned j = 0; j < d; j++)
	{
		const double apart = (double)centre[(size_t)star * d + j] - cell->middle[j];

		square += apart * apart;
	}
	/* an upper bound of a point's distance to its nearest centre */
	far = sqrt(square) * (1 + 8 * DBL_EPSILON) + cell->radius;
	most = fmax(cell->radius, far / 8) / 2;
	allow = g->iteration ? fmin(fmax(pace * AHEAD, most / 10), most) : most;
	allow += root;
	limit = SPLAT((REAL)((allow * far + allow * allow / 2 + 8 * g->slack) * (1 + 4 * EPSILON)));
	memcpy(was, list, (before <= x->most ? before : 0) * sizeof(*was));
	for (uint32_t c = 0; c < x->padded;) {
		const uint32_t first = c;
		uint64_t nears = 0; /* of 64 at once: each end of a loop may be mispredicted */

		for (; c < x->padded && c < first + 64; c += LANES) {
			NAME(vector) s = V(score + c) - lowest, apart;

			UNROLL for (unsigned j = 0; j < d; j++)
			{
				apart = V(column + (size_t)j * x->padded + c) -
					SPLAT(centre[(size_t)star * d + j]);
				apart = MAX(apart, -apart);
				s = MINUS_PRODUCT(s, apart, SPLAT((REAL)cell->half[j]));
			}
			V(score + c) = s;
			/* negated, so that NaN counts as near */
			nears |= (uint64_t)(~BITS(GREATER(s, limit)) & EVERY) << (c - first);
			others = MIN(others, PICK(GREATER(s, limit), s, SPLAT(INFINITY)));
		}
		for (; nears; nears &= nears - 1) {
			const uint32_t id = first + (uint32_t)__builtin_ctzll(nears);

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
	/* A new candidate may become nearest: tighten the tiles' bounds by its score. */
	for (uint32_t i = 0; i < found && before <= x->most; i++) {
		while (o < before && was[o] < ids[i])
			o++;
		if (o == before || was[o] != ids[i])
			enter = fmin(enter, (double)score[ids[i]]);
	}
	enter -= 8 * g->slack;
	allow = sqrt(far * far + 2 * ((double)LEAST(others) * (1 - 4 * EPSILON) - 4 * g->slack)) *
			(1 - 4 * DBL_EPSILON) -
		far - root;
	cell->allowed = allow > most ? most : allow;
	cell->margin = NAME(margin)(x, cell, g, most, d);
	rise = (float)(cell->margin > margin ? cell->margin - margin : 0) * (1 + 2 * FLT_EPSILON);
	gone = (float)cell->gone * (1 + 2 * FLT_EPSILON);
	enters = (float)enter * (1 - 2 * FLT_EPSILON);
	for (uint32_t t = 0; t * TILE < cell->points; t++) {
		const float left = until[t] - gone - rise;

		until[t] = (enters < left ? enters : left) * (1 - 4 * FLT_EPSILON);
	}
	cell->gone = cell->spent = 0;
}
