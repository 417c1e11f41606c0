/* SPDX-License-Identifier: Apache-2.0 */
/* The candidates of a cell. Part of cells_build.h. */

/*
 * How much lower the least score of a point of a cell, as tiles compute it, must be than all other
 * candidates' scores, so that its centre is certainly the nearest: the error of two scores
 * (frame.c), with these points and candidates, until each has moved by `move`; and frame.c's error
 * of distances. For doubles, tiles are relative to the cell's middle, and the error of the points'
 * own coordinates is added. Without roots: |c|^2 / 2 + |x||c| <= |c|^2 + |x|^2 / 2, and (|c| +
 * move)^2 <= 5/4 |c|^2 + 5 move^2.
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

/* Computes all scores of a cell's middle. Returns the nearest centre; `lead`: its score. */
INLINE uint32_t NAME(nearest)(struct index *x, const struct cell *cell, const struct stage *g,
			      REAL *lead, unsigned d)
{
	const REAL *column = x->column, *half = column + (size_t)d * x->padded;
	REAL *const score = x->score;
	NAME(vector) least = SPLAT(INFINITY), where = SPLAT(0);
	uint32_t star;

	for (uint32_t c = 0; c < x->padded; c += LANES) {
		NAME(vector) s = V(half + c);

		UNROLL for (unsigned j = 0; j < d; j++) s = MINUS_PRODUCT(
			s, SPLAT((REAL)cell->middle[j]), V(column + (size_t)j * x->padded + c));
		V(score + c) = s;
		where = PICK(GREATER(least, s), SPLAT((REAL)c), where);
		least = MIN(s, least);
	}
	*lead = LEAST(least);
	star = (uint32_t)__builtin_ctz(~BITS(GREATER(least, SPLAT(*lead))) & EVERY);
	star += (uint32_t)((const REAL *)&where)[star];
	return star < g->k ? star : 0; /* all NaN */
}

/*
 * Lists the centres whose scores, minus centre `star`'s score, are at most `limit` somewhere in the
 * cell's box; leaves the least of these differences as scores. Returns how many, and `others`: the
 * least difference of those that are not listed.
 */
INLINE uint32_t NAME(list)(struct index *x, const struct cell *cell, const struct stage *g,
			   uint32_t star, REAL lead, REAL limit, double *others, unsigned d)
{
	const REAL *centre = g->centre, *column = x->column;
	uint32_t *const list = x->list + (size_t)(cell - x->cell) * x->most;
	const NAME(vector) lowest = SPLAT(lead), most = SPLAT(limit);
	NAME(vector) beyond = SPLAT(INFINITY);
	REAL *const score = x->score;
	uint32_t found = 0;

	for (uint32_t c = 0; c < x->padded;) {
		const uint32_t first = c;
		/* 64 centres at once, since each end of a loop may be mispredicted */
		uint64_t nears = 0;

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
			nears |= (uint64_t)(~BITS(GREATER(s, most)) & EVERY) << (c - first);
			beyond = MIN(beyond, PICK(GREATER(s, most), s, SPLAT(INFINITY)));
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
	*others = (double)LEAST(beyond);
	return found > x->most ? g->k : found;
}

/* The least score of the candidates that were not among the `before` ones of `was`. */
INLINE double NAME(entering)(const struct index *x, const struct cell *cell, const uint32_t *was,
			     uint32_t before)
{
	const uint32_t *const ids = candidates(x, cell);
	const REAL *const score = x->score;
	double enter = INFINITY;

	for (uint32_t i = 0, o = 0; i < cell->candidates && before <= x->most; i++) {
		while (o < before && was[o] < ids[i])
			o++;
		if (o == before || was[o] != ids[i])
			enter = fmin(enter, (double)score[ids[i]]);
	}
	return enter;
}

/*
 * Lowers the bounds of a cell's tiles by the margin's increase, and to at most `enter`, from which
 * a new candidate may be the nearest.
 */
INLINE void NAME(tighten)(const struct index *x, const struct cell *cell, double enter, double rise)
{
	float *const until = x->until + (size_t)(cell - x->cell) * x->stride;
	const float gone = (float)cell->gone * (1 + 2 * FLT_EPSILON),
		    risen = (float)(rise > 0 ? rise : 0) * (1 + 2 * FLT_EPSILON),
		    enters = (float)enter * (1 - 2 * FLT_EPSILON);

	for (uint32_t t = 0; t * TILE < cell->points; t++) {
		const float left = until[t] - gone - risen;

		until[t] = (enters < left ? enters : left) * (1 - 4 * FLT_EPSILON);
	}
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
	const REAL *centre = g->centre;
	const uint32_t *const list = x->list + (size_t)(cell - x->cell) * x->most;
	uint32_t was[MOST_CANDIDATES], before = cell->candidates;
	const double root = 3 * sqrt((d + 4) * EPSILON * g->slack), margin = cell->margin;
	double square = 0, far, allow, others, most;
	REAL lead;
	const uint32_t star = NAME(nearest)(x, cell, g, &lead, d);

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
	memcpy(was, list, (before <= x->most ? before : 0) * sizeof(*was));
	cell->candidates = NAME(list)(
		x, cell, g, star, lead,
		(REAL)((allow * far + allow * allow / 2 + 8 * g->slack) * (1 + 4 * EPSILON)),
		&others, d);
	allow = sqrt(far * far + 2 * (others * (1 - 4 * EPSILON) - 4 * g->slack)) *
			(1 - 4 * DBL_EPSILON) -
		far - root;
	cell->allowed = allow > most ? most : allow;
	cell->margin = NAME(margin)(x, cell, g, most, d);
	NAME(tighten)
	(x, cell, NAME(entering)(x, cell, was, before) - 8 * g->slack, cell->margin - margin);
	cell->gone = cell->spent = 0;
}
