/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the nearest centre of each point of a block. Tracking the index would cost more than the
 * scores, so only the least score and its group are kept. At the end the scores of that group are
 * recomputed for each point, by the same operations but with centres in lanes: the first score that
 * equals the least belongs to the nearest centre. Part of tiles_loops.h.
 */
/* Sets least = s and where = g in the lanes where s is less. */
#define NOTE(least, where, s, g)                                                        \
	do {                                                                            \
		__extension__ const __auto_type less = GREATER(least, s);               \
                                                                                        \
		(where) = PICK_INTEGERS(less, (NAME(integers)){ 0 } + (INT)(g), where); \
		(least) = MIN(s, least);                                                \
	} while (0)

/*
 * The scores of four points, each for its own group, with centres in lanes. VALUE(q, j): address of
 * value j of point q.
 */
#define SCORES_OF_FOUR(s, VALUE, at, half)                                                     \
	do {                                                                                   \
		UNROLL for (unsigned q = 0; q < 4; q++)                                        \
			UNROLL for (unsigned v = 0; v < GROUP_VECTORS; v++)(s)[q][v] =         \
				V((half)[q] + v * LANES);                                      \
		for (size_t j = 0; j < d; j++)                                                 \
			UNROLL for (unsigned q = 0; q < 4; q++)                                \
				UNROLL for (unsigned v = 0; v < GROUP_VECTORS; v++)(s)[q][v] = \
					MINUS_PRODUCT((s)[q][v], SPLAT(*VALUE(q, j)),          \
						      V((at)[q] + j * GROUP + v * LANES));     \
	} while (0)

/* The first centre of a group that has this score. */
TARGET static inline unsigned NAME(first_with)(const NAME(vector) * s, const REAL *score)
{
	unsigned equal = 0;

	UNROLL for (unsigned v = 0; v < GROUP_VECTORS; v++) equal |=
		BITS(EQUAL(s[v], SPLAT(*score))) << v * LANES;
	return (unsigned)__builtin_ctz(equal);
}

static const INT NAME(number)[]
	__attribute__((aligned(64))) = { 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15 };

/* The least score of a group without centre `but`. */
TARGET static inline REAL NAME(least_but)(const NAME(vector) * s, unsigned but)
{
	const NAME(integers) lane = *(const NAME(integers) *)NAME(number);
	NAME(vector) least = (NAME(vector)){ 0 } + (REAL)INFINITY;

	UNROLL for (unsigned v = 0; v < GROUP_VECTORS; v++)
	{
		const NAME(integers) out = lane == (NAME(integers)){ 0 } + (INT)(but - v * LANES);

		least = MIN(least, (NAME(vector))((out & (NAME(integers))((NAME(vector)){ 0 } +
									  (REAL)INFINITY)) |
						  (~out & (NAME(integers))s[v])));
	}
	return LEAST(least);
}

/* The least score of each point of a block for one group of centres. */
TARGET __attribute__((always_inline)) static inline void
NAME(least_of_group)(const REAL *x, const REAL *group, const REAL *half, size_t d,
		     NAME(vector) best[VECTORS])
{
	UNROLL for (unsigned first = 0; first < GROUP; first += ROWS)
	{
		NAME(vector) s[ROWS][VECTORS];

		UNROLL for (unsigned r = 0; r < ROWS; r++)
			UNROLL for (unsigned p = 0; p < VECTORS; p++) s[r][p] =
				SPLAT(half[first + r]);
		for (size_t j = 0; j < d; j++) {
			const REAL *at = x + j * BLOCK, *value = group + j * GROUP + first;

			UNROLL for (unsigned r = 0; r < ROWS; r++)
				UNROLL for (unsigned p = 0; p < VECTORS; p++) s[r][p] =
					MINUS_PRODUCT(s[r][p], V(at + p * LANES), SPLAT(value[r]));
		}
		UNROLL for (unsigned p = 0; p < VECTORS; p++)
		{
			UNROLL for (unsigned r = 0; r < ROWS; r += 2) s[r][p] =
				MIN(s[r][p], s[r + 1][p]);
			UNROLL for (unsigned r = 0; r < ROWS; r += 4) s[r][p] =
				MIN(s[r][p], s[r + 2][p]);
			UNROLL for (unsigned r = 4; r < ROWS; r += 4) s[0][p] =
				MIN(s[0][p], s[r][p]);
			best[p] = first ? MIN(best[p], s[0][p]) : s[0][p];
		}
	}
}

/*
 * Examines the centres of each point's own group again: finds the nearest, and the least score of
 * the others.
 */
TARGET __attribute__((always_inline)) static inline void
NAME(find_in_group)(const REAL *x, const struct packed *centres, const INT *groups,
		    const REAL *score, uint32_t *label, REAL *seconds)
{
	const REAL *c = centres->value, *half = centres->half;
	const size_t d = centres->d, step = d * GROUP;

	/* Four points at a time: independent dependency chains fill the pipeline. */
	for (unsigned i = 0; i < BLOCK; i += 4) {
		NAME(vector) s[4][GROUP_VECTORS];
		const REAL *at[4], *halves[4], *from = x + i;

		UNROLL for (unsigned q = 0; q < 4; q++)
		{
			at[q] = c + (size_t)groups[i + q] * step;
			halves[q] = half + (size_t)groups[i + q] * GROUP;
		}
#define VALUE(q, j) (from + (j)*BLOCK + (q))
		SCORES_OF_FOUR(s, VALUE, at, halves);
#undef VALUE
		UNROLL for (unsigned q = 0; q < 4; q++)
		{
			const unsigned first = NAME(first_with)(s[q], score + i + q);

			label[i + q] = (uint32_t)groups[i + q] * GROUP + first;
			seconds[i + q] = NAME(least_but)(s[q], first);
		}
	}
}

/* See struct tiles. */
TARGET static uint64_t NAME(nearest_apart)(const void *block, const struct packed *centres,
					   double margin, uint32_t *label)
{
	const REAL *x = block, *c = centres->value, *half = centres->half;
	const size_t d = centres->d, step = d * GROUP;
	const char *next = (const char *)(x + d * BLOCK), *end = next + d * BLOCK * sizeof(REAL);
	NAME(vector) least[VECTORS], other[VECTORS], second[VECTORS];
	NAME(integers) group[VECTORS];
	uint64_t apart = 0;

	for (unsigned p = 0; p < VECTORS; p++) {
		least[p] = other[p] = (NAME(vector)){ 0 } + (REAL)INFINITY;
		group[p] = (NAME(integers)){ 0 };
	}
	for (unsigned g = 0; g < centres->groups; g++) {
		NAME(vector) best[VECTORS];

		for (unsigned i = 0; i < 2 && next < end; i++, next += 64)
			__builtin_prefetch(next);
		NAME(least_of_group)(x, c + g * step, half + (size_t)g * GROUP, d, best);
		UNROLL for (unsigned p = 0; p < VECTORS; p++)
		{
			other[p] = MIN(other[p], MAX(least[p], best[p]));
			NOTE(least[p], group[p], best[p], g);
		}
	}
	NAME(find_in_group)
	(x, centres, (const INT *)group, (const REAL *)least, label, (REAL *)second);
	UNROLL for (unsigned p = 0; p < VECTORS; p++)
	{
		const NAME(vector) gap = MIN(second[p], other[p]) - least[p];

		apart |= (uint64_t)BITS(GREATER(gap, SPLAT((REAL)margin))) << p * LANES;
	}
	return apart;
}

/* Centres of a list at once: registers also hold labels, least and second least scores. */
#define OF_LIST (WIDTH == 64 ? 4 : 2)

/* The nearest of n listed centres, and the least and second least scores. */
TARGET __attribute__((always_inline)) static inline void
NAME(look_listed)(const void *block, const REAL *value, const REAL *half, const uint32_t *list,
		  unsigned n, size_t d, uint32_t *label, NAME(vector) * least, NAME(vector) * other)
{
	NAME(integers) nearest[VECTORS];

	UNROLL for (unsigned p = 0; p < VECTORS; p++)
	{
		least[p] = other[p] = (NAME(vector)){ 0 } + (REAL)INFINITY;
		nearest[p] = (NAME(integers)){ 0 };
	}
	for (unsigned i = 0; i < n; i += OF_LIST) {
		NAME(vector) s[OF_LIST][VECTORS];
		const REAL *c[OF_LIST], *x = block;
		uint32_t which[OF_LIST];

		UNROLL for (unsigned r = 0; r < OF_LIST; r++)
		{
			which[r] = list[i + r < n ? i + r : i];
			c[r] = value + which[r] * d;
			UNROLL for (unsigned p = 0; p < VECTORS; p++) s[r][p] =
				SPLAT(i + r < n ? half[which[r]] : (REAL)INFINITY);
		}
		for (size_t j = 0; j < d; j++, x += BLOCK)
			UNROLL for (unsigned r = 0; r < OF_LIST; r++)
				UNROLL for (unsigned p = 0; p < VECTORS; p++) s[r][p] =
					MINUS_PRODUCT(s[r][p], V(x + p * LANES), SPLAT(c[r][j]));
		UNROLL for (unsigned r = 0; r < OF_LIST; r++)
			UNROLL for (unsigned p = 0; p < VECTORS; p++)
		{
			other[p] = MIN(other[p], MAX(least[p], s[r][p]));
			NOTE(least[p], nearest[p], s[r][p], which[r]);
		}
	}
	for (unsigned i = 0; i < BLOCK; i++)
		label[i] = (uint32_t)((const INT *)nearest)[i];
}

/* See struct tiles. */
TARGET static uint64_t NAME(nearest_listed)(const void *block, const void *value, const void *half,
					    const uint32_t *list, unsigned n, unsigned d,
					    double margin, uint32_t *label)
{
	NAME(vector) least[VECTORS], other[VECTORS];
	uint64_t apart = 0;

	NAME(look_listed)(block, value, half, list, n, d, label, least, other);
	UNROLL for (unsigned p = 0; p < VECTORS; p++) apart |=
		(uint64_t)BITS(GREATER(other[p] - least[p], SPLAT((REAL)margin))) << p * LANES;
	return apart;
}

/* Rows at once: with the least and the second least of each, 16 registers cannot hold 8. */
#define AT_ONCE (WIDTH == 16 ? 4 : FEW_ROWS)

/*
 * See struct tiles. Centres are in lanes; each lane keeps its least and second least score, and the
 * number of the vector with the least.
 */
TARGET static void NAME(two_of_rows)(const void *rows, unsigned n, const struct packed *centres,
				     uint32_t *label, void *scores, void *seconds)
{
	const NAME(integers) lanes = *(const NAME(integers) *)NAME(number);
	const size_t d = centres->d;

	for (unsigned i = 0; i < n; i += AT_ONCE) {
		const REAL *half = centres->half, *x[AT_ONCE];
		NAME(vector) least[AT_ONCE], other[AT_ONCE];
		NAME(integers) where[AT_ONCE];

		UNROLL for (unsigned q = 0; q < AT_ONCE; q++)
		{
			x[q] = (const REAL *)rows + (i + q < n ? i + q : i) * d;
			least[q] = other[q] = (NAME(vector)){ 0 } + (REAL)INFINITY;
			where[q] = (NAME(integers)){ 0 };
		}
		for (unsigned v = 0; v < centres->groups * GROUP_VECTORS; v++) {
			const REAL *at = (const REAL *)centres->value +
					 v / GROUP_VECTORS * d * GROUP + v % GROUP_VECTORS * LANES;
			NAME(vector) s[AT_ONCE];

			UNROLL for (unsigned q = 0; q < AT_ONCE; q++) s[q] = V(half + v * LANES);
			for (size_t j = 0; j < d; j++)
				UNROLL for (unsigned q = 0; q < AT_ONCE; q++) s[q] =
					MINUS_PRODUCT(s[q], SPLAT(x[q][j]), V(at + j * GROUP));
			UNROLL for (unsigned q = 0; q < AT_ONCE; q++)
			{
				other[q] = MIN(other[q], MAX(least[q], s[q]));
				NOTE(least[q], where[q], s[q], v);
			}
		}
		for (unsigned q = 0; q < AT_ONCE && i + q < n; q++) {
			const REAL low = LEAST(least[q]);
			const unsigned lane =
				(unsigned)__builtin_ctz(BITS(EQUAL(least[q], SPLAT(low))));
			const NAME(integers) own = lanes == (NAME(integers)){ 0 } + (INT)lane;
			const NAME(vector) rest = (NAME(vector))((own & (NAME(integers))other[q]) |
								 (~own & (NAME(integers))least[q]));

			label[i + q] = (uint32_t)((const INT *)&where[q])[lane] * LANES + lane;
			((REAL *)scores)[i + q] = low;
			((REAL *)seconds)[i + q] = LEAST(rest);
		}
	}
}

/* See struct tiles: scores() without the least. */
TARGET static void NAME(score)(const void *row, const struct packed *centres, void *score)
{
	const REAL *x = row, *c = centres->value, *half = centres->half;
	const size_t d = centres->d, step = d * GROUP;

	/* Four groups at a time; the last ones may be repeated. */
	for (unsigned g = 0; g < centres->groups; g += 4) {
		NAME(vector) s[4][GROUP_VECTORS];
		const REAL *at[4], *halves[4];
		unsigned group[4];

		UNROLL for (unsigned q = 0; q < 4; q++)
		{
			group[q] = g + q < centres->groups ? g + q : g;
			at[q] = c + group[q] * step;
			halves[q] = half + (size_t)group[q] * GROUP;
		}
#define VALUE(q, j) (x + (j))
		SCORES_OF_FOUR(s, VALUE, at, halves);
#undef VALUE
		UNROLL for (unsigned q = 0; q < 4; q++)
			UNROLL for (unsigned v = 0; v < GROUP_VECTORS; v++)
				V((REAL *)score + (size_t)group[q] * GROUP + v * LANES) = s[q][v];
	}
}

/* See struct tiles. */
TARGET static double NAME(scores)(const void *row, const struct packed *centres, void *score)
{
	NAME(vector) least = (NAME(vector)){ 0 } + (REAL)INFINITY;

	NAME(score)(row, centres, score);
	for (unsigned v = 0; v < centres->groups * GROUP_VECTORS; v++)
		least = MIN(least, V((const REAL *)score + v * LANES));
	return (double)LEAST(least);
}

/*
 * See struct tiles. Between the middle and the edge of the box, a centre's score gains on another's
 * by at most the extent times the distance of the two, summed over dimensions.
 */
TARGET static unsigned NAME(rivals)(const void *middle, const void *extent,
				    const struct packed *centres, double margin, void *scores,
				    uint16_t *found)
{
	const REAL *s = scores, *wide = extent, *c = centres->value, *nearest;
	const size_t d = centres->d;
	const unsigned vectors = centres->groups * GROUP_VECTORS;
	NAME(vector) least = (NAME(vector)){ 0 } + (REAL)INFINITY, most;
	NAME(integers) where = { 0 };
	REAL low;
	unsigned lane, at, n = 0;

	NAME(score)(middle, centres, scores);
	for (unsigned v = 0; v < vectors; v++)
		NOTE(least, where, V(s + v * LANES), v);
	low = LEAST(least);
	lane = (unsigned)__builtin_ctz(BITS(EQUAL(least, SPLAT(low))));
	at = (unsigned)((const INT *)&where)[lane] * LANES + lane;
	nearest = c + at / GROUP * d * GROUP + at % GROUP;
	low += (REAL)margin;
	most = SPLAT(low + (low < 0 ? -low : low) * (REAL)0x1p-20);

	for (unsigned v = 0; v < vectors;) {
		const unsigned first = v * LANES;
		uint64_t bits = 0;

		for (; v < vectors && v * LANES - first < 64; v++) {
			const REAL *to =
				c + v / GROUP_VECTORS * d * GROUP + v % GROUP_VECTORS * LANES;
			NAME(vector) best = V(s + v * LANES);

			for (size_t j = 0; j < d; j++) {
				const NAME(vector) apart =
					V(to + j * GROUP) - SPLAT(nearest[j * GROUP]);

				best = MINUS_PRODUCT(best, SPLAT(wide[j]), MAX(apart, -apart));
			}
			bits |= (uint64_t)BITS(AT_MOST(best, most)) << (v * LANES - first);
		}
		for (; bits; bits &= bits - 1)
			found[n++] = (uint16_t)(first + (unsigned)__builtin_ctzll(bits));
	}
	return n;
}

#undef AT_ONCE
#undef OF_LIST
#undef NOTE
#undef SCORES_OF_FOUR
