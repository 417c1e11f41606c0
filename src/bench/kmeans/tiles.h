/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Brute force in tiles of registers: no header, but what brute.c includes once for each instruction
 * set and type, with
 *
 *	NAME(function)     the function's name
 *	TARGET             the attribute that allows the instructions; empty for those that are
 *                         always there
 *	REAL, INT, WIDTH   the type of a value, the integer of its size, and bytes of a vector
 *	ROWS               centres that a tile has at once
 *	GROUP              centres between two looks at which was nearest; a multiple of ROWS and of
 *                         the lanes
 *	SPLAT(address)     the value there in all lanes
 *	MINUS_PRODUCT(s, x, c), LESSER(a, b)
 *	EQUAL(a, b), AT_MOST(a, b)  a bit for each lane
 *	ROOT(v), LEAST_LANE(v)
 *	NOTE(least, where, s, g)  where s is less, it becomes the least, and `where` g
 * The last lines may be left out.
 *
 * Points are in lanes: a block is VECTORS vectors of them, dimension by dimension. Of ROWS centres
 * the scores of a whole block are in registers, so a value of a centre, loaded once into all lanes,
 * serves VECTORS multiplications, and a value of a point ROWS.
 *
 * Which centre was nearest costs more than that: so only the least score is kept, and the group it
 * came from; in the end the scores of that group are computed again for each point, now with the
 * centres in lanes, by the same operations: the first that equals the least is it.
 */
#define LANES (WIDTH / sizeof(REAL))
#define BLOCK (VECTORS * LANES)

typedef REAL NAME(vector) __attribute__((vector_size(WIDTH), may_alias));
typedef REAL NAME(unaligned) __attribute__((vector_size(WIDTH), aligned(sizeof(REAL)), may_alias));
typedef INT NAME(integers) __attribute__((vector_size(WIDTH), may_alias));
typedef REAL NAME(eight) __attribute__((vector_size(8 * sizeof(REAL))));

/* Without an instruction for it. */
#ifndef SPLAT
#define SPLAT(address)	       (*(address) - (NAME(vector)){ 0 })
#define MINUS_PRODUCT(s, x, c) ((s) - (x) * (c))
#define LESSER(a, b)                                                         \
	((NAME(vector))SELECT((a) < (b), (NAME(integers))(a), (NAME(integers))(b)))
#define BITS(mask)                                                   \
	({                                                           \
		const NAME(integers) lanes = (mask);                 \
		unsigned bits = 0;                                   \
                                                                     \
		for (unsigned lane = 0; lane < LANES; lane++)        \
			bits |= (unsigned)(lanes[lane] & 1) << lane; \
		bits;                                                \
	})
#define EQUAL(a, b)   BITS((a) == (b))
#define AT_MOST(a, b) BITS((a) <= (b))
#endif
#ifndef LEAST_LANE
#define LEAST_LANE(v)                                                                     \
	({                                                                                \
		const NAME(vector) lanes = (v);                                           \
		REAL least_lane = lanes[0];                                               \
                                                                                          \
		for (unsigned lane = 1; lane < LANES; lane++)                             \
			least_lane = lanes[lane] < least_lane ? lanes[lane] : least_lane; \
		least_lane;                                                               \
	})
#endif
#ifndef ROOT
#define ROOT(v)                                                      \
	({                                                           \
		NAME(vector) root = (v);                             \
                                                                     \
		for (unsigned lane = 0; lane < LANES; lane++)        \
			root[lane] = (REAL)sqrt((double)root[lane]); \
		root;                                                \
	})
#endif
#ifndef NOTE
#define SELECT(mask, a, b) (((mask) & (a)) | (~(mask) & (b)))
#define NOTE(least, where, s, g)                                                   \
	((where) = SELECT((s) < (least), (NAME(integers)){ 0 } + (INT)(g), where), \
	 (least) = LESSER(s, least))
#endif
#define V(address) (*(const NAME(vector) *)(address))

/*
 * The scores of four points, value j of point q at VALUE(q, j), each with a group of its own:
 * centres in lanes.
 */
#define SCORES_OF_FOUR(s, VALUE, at, half)                                                     \
	do {                                                                                   \
		UNROLL for (unsigned q = 0; q < 4; q++)                                        \
			UNROLL for (unsigned v = 0; v < GROUP / LANES; v++)(s)[q][v] =         \
				V((half)[q] + v * LANES);                                      \
		for (size_t j = 0; j < d; j++)                                                 \
			UNROLL for (unsigned q = 0; q < 4; q++)                                \
				UNROLL for (unsigned v = 0; v < GROUP / LANES; v++)(s)[q][v] = \
					MINUS_PRODUCT((s)[q][v], SPLAT(VALUE(q, j)),           \
						      V((at)[q] + j * GROUP + v * LANES));     \
	} while (0)

/* The first centre of a group that has this score. */
TARGET static inline unsigned NAME(first_with)(const NAME(vector) * s, const REAL *score)
{
	unsigned equal = 0;

	UNROLL for (unsigned v = 0; v < GROUP / LANES; v++) equal |=
		(unsigned)EQUAL(s[v], SPLAT(score)) << v * LANES;
	return (unsigned)__builtin_ctz(equal);
}

static const INT NAME(number)[]
	__attribute__((aligned(64))) = { 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15 };

/* The least score of a group but for one centre; GROUP: for none. */
TARGET static inline REAL NAME(least_but)(const NAME(vector) * s, unsigned but)
{
	const NAME(integers) lane = *(const NAME(integers) *)NAME(number);
	NAME(vector) least = (NAME(vector)){ 0 } + (REAL)INFINITY;

	UNROLL for (unsigned v = 0; v < GROUP / LANES; v++)
	{
		const NAME(integers) out = lane == (NAME(integers)){ 0 } + (INT)(but - v * LANES);

		least = LESSER(least, (NAME(vector))((out & (NAME(integers))((NAME(vector)){ 0 } +
									     (REAL)INFINITY)) |
						     (~out & (NAME(integers))s[v])));
	}
	return LEAST_LANE(least);
}

/* What lies behind the block is fetched on the way: it will be the next one. */
TARGET __attribute__((always_inline)) static inline void
NAME(look)(const void *block, const struct packed *centres, uint32_t *label, void *scores,
	   const bool bound, void *bests, void *seconds)
{
	const REAL *x = block, *c = centres->value, *half = centres->half;
	const size_t d = centres->d, step = d * GROUP;
	const char *next = (const char *)(x + d * BLOCK), *end = next + d * BLOCK * sizeof(REAL);
	NAME(vector) least[VECTORS], *keep = bests;
	NAME(integers) group[VECTORS];
	const INT *groups = (const INT *)group;
	const REAL *score = scores;

	for (unsigned p = 0; p < VECTORS; p++) {
		least[p] = (NAME(vector)){ 0 } + (REAL)INFINITY;
		group[p] = (NAME(integers)){ 0 };
	}
	for (unsigned g = 0; g < centres->groups; g++) {
		const REAL *halves = half + (size_t)g * GROUP;
		NAME(vector) best[VECTORS];

		for (unsigned i = 0; i < 2 && next < end; i++, next += 64)
			__builtin_prefetch(next);
		UNROLL for (unsigned first = 0; first < GROUP; first += ROWS)
		{
			NAME(vector) s[ROWS][VECTORS];

			UNROLL for (unsigned r = 0; r < ROWS; r++)
				UNROLL for (unsigned p = 0; p < VECTORS; p++) s[r][p] =
					SPLAT(halves + first + r);
			for (size_t j = 0; j < d; j++) {
				const REAL *at = x + j * BLOCK,
					   *value = c + g * step + j * GROUP + first;

				UNROLL for (unsigned r = 0; r < ROWS; r++)
					UNROLL for (unsigned p = 0; p < VECTORS; p++) s[r][p] =
						MINUS_PRODUCT(s[r][p], V(at + p * LANES),
							      SPLAT(value + r));
			}
			UNROLL for (unsigned p = 0; p < VECTORS; p++)
			{
				UNROLL for (unsigned r = 0; r < ROWS; r += 2) s[r][p] =
					LESSER(s[r][p], s[r + 1][p]);
				UNROLL for (unsigned r = 0; r < ROWS; r += 4) s[r][p] =
					LESSER(s[r][p], s[r + 2][p]);
				UNROLL for (unsigned r = 4; r < ROWS; r += 4) s[0][p] =
					LESSER(s[0][p], s[r][p]);
				best[p] = first ? LESSER(best[p], s[0][p]) : s[0][p];
			}
		}
		UNROLL for (unsigned p = 0; p < VECTORS; p++) NOTE(least[p], group[p], best[p], g);
		if (bound) {
			UNROLL for (unsigned p = 0; p < VECTORS; p++) *keep++ = best[p];
		}
	}
	for (unsigned p = 0; p < VECTORS; p++)
		((NAME(vector) *)scores)[p] = least[p];
	/* Four points at a time: the chain of one leaves room for others'. */
	for (unsigned i = 0; i < BLOCK; i += 4) {
		NAME(vector) s[4][GROUP / LANES];
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
			if (bound)
				((REAL *)seconds)[i + q] = NAME(least_but)(s[q], first);
		}
	}
}

/* See struct tiles. */
TARGET static void NAME(nearest)(const void *block, const struct packed *centres, uint32_t *label)
{
	REAL scores[BLOCK] __attribute__((aligned(WIDTH)));

	NAME(look)(block, centres, label, scores, false, NULL, NULL);
}

/* See struct tiles. */
TARGET static void NAME(nearest_two)(const void *block, const struct packed *centres,
				     uint32_t *label, void *scores, void *bests, void *seconds)
{
	NAME(look)(block, centres, label, scores, true, bests, seconds);
}

/* See struct tiles. */
TARGET static void NAME(of_group)(const void *rows, const uint16_t *list, unsigned n,
				  const struct packed *centres, unsigned g, struct winner *to)
{
	const size_t d = centres->d;
	const REAL *c = (const REAL *)centres->value + g * d * GROUP,
		   *half = (const REAL *)centres->half + (size_t)g * GROUP;

	for (unsigned i = 0; i < n; i += 4) {
		NAME(vector) s[4][GROUP / LANES];
		const REAL *at[4] = { c, c, c, c }, *halves[4] = { half, half, half, half },
			   *point[4];

		UNROLL for (unsigned q = 0; q < 4; q++) point[q] =
			(const REAL *)rows + (size_t)list[i + q < n ? i + q : i] * d;
#define VALUE(q, j) (point[q] + (j))
		SCORES_OF_FOUR(s, VALUE, at, halves);
#undef VALUE
		for (unsigned q = 0; q < 4 && i + q < n; q++) {
			const REAL least = NAME(least_but)(s[q], GROUP);
			const unsigned first = NAME(first_with)(s[q], &least);

			to[i + q] = (struct winner){ (double)least,
						     (double)NAME(least_but)(s[q], first),
						     g * GROUP + first };
		}
	}
}

/* A point, as given, to a row that is relative to the origin. */
TARGET static void NAME(relate)(void *row, const void *given, const void *origin, unsigned d)
{
	const REAL *x = given, *zero = origin;
	REAL *to = row;
	unsigned j = 0;

	for (; d - j >= LANES; j += LANES)
		*(NAME(unaligned) *)(to + j) =
			(*(const NAME(unaligned) *)(x + j) - *(const NAME(unaligned) *)(zero + j)) *
			zero[d];
	for (; j < d; j++)
		to[j] = (x[j] - zero[j]) * zero[d];
}

/* The square of the distance between two rows; in any order, so no score. */
TARGET static double NAME(square)(const void *a, const void *b, unsigned d)
{
	const REAL *x = a, *y = b;
	NAME(vector) sum = { 0 };
	REAL all = 0;
	unsigned j = 0;

	for (; d - j >= LANES; j += LANES) {
		const NAME(vector) apart =
			*(const NAME(unaligned) *)(x + j) - *(const NAME(unaligned) *)(y + j);

		sum += apart * apart;
	}
	for (; j < d; j++)
		all += (x[j] - y[j]) * (x[j] - y[j]);
	for (unsigned lane = 0; lane < LANES; lane++)
		all += sum[lane];
	return (double)all;
}

/*
 * Of a block: how far at least each point is from the centres of each group, of which the least
 * scores are known. Also |x|^2.
 */
TARGET static void NAME(lower)(const void *block, const void *bests, unsigned d, unsigned groups,
			       double margin, float *lower, double *squares)
{
	const REAL *x = block;
	NAME(vector) square[VECTORS] = { 0 };
	REAL least[BLOCK];

	for (unsigned j = 0; j < d; j++)
		for (unsigned p = 0; p < VECTORS; p++)
			square[p] += V(x + j * BLOCK + p * LANES) * V(x + j * BLOCK + p * LANES);
	for (unsigned i = 0; i < BLOCK; i++)
		squares[i] = (double)((const REAL *)square)[i];
	for (unsigned g = 0; g < groups; g++) {
		for (unsigned p = 0; p < VECTORS; p++) {
			const NAME(vector) v = ((const NAME(vector) *)bests)[g * VECTORS + p] * 2 +
					       square[p] - (REAL)margin;

			*(NAME(unaligned) *)(least + p * LANES) =
				ROOT(-LESSER(-v, (NAME(vector)){ 0 }));
		}
		for (unsigned i = 0; i < BLOCK; i++)
			lower[(size_t)i * groups + g] = (float)least[i] * LOWER;
	}
}

/* See struct tiles. */
TARGET static unsigned NAME(near)(const void *bounds, const void *reach, unsigned n, double limit,
				  uint16_t *near, double *least)
{
	const REAL *b = bounds, *r = reach;
	const NAME(vector) most = (NAME(vector)){ 0 } + (REAL)limit;
	NAME(vector) all = (NAME(vector)){ 0 } + (REAL)INFINITY;
	unsigned found = 0, e = 0;

	for (; n - e >= LANES; e += LANES) {
		const NAME(vector) bound =
			*(const NAME(unaligned) *)(b + e) - *(const NAME(unaligned) *)(r + e);

		for (unsigned bits = (unsigned)AT_MOST(bound, most); bits; bits &= bits - 1)
			near[found++] = (uint16_t)(e + (unsigned)__builtin_ctz(bits));
		all = LESSER(all, bound);
	}
	*least = (double)LEAST_LANE(all);
	for (; e < n; e++) {
		near[found] = (uint16_t)e;
		found += b[e] - r[e] <= (REAL)limit;
		*least = (double)(b[e] - r[e]) < *least ? (double)(b[e] - r[e]) : *least;
	}
	return found;
}

/*
 * Points as given, n of them and at most BLOCK, to a block: relative to the origin. The lanes that
 * are left are the origin.
 */
TARGET static void NAME(transpose)(void *block, const void *given, const void *origin, size_t n,
				   unsigned d)
{
	const REAL *from = given, *zero = origin;
	REAL *to = block;

	for (size_t i = 0; i < n; i++)
		for (unsigned j = 0; j < d; j++)
			to[j * BLOCK + i] = (from[i * d + j] - zero[j]) * zero[d];
	for (size_t i = n; i < BLOCK; i++)
		for (unsigned j = 0; j < d; j++)
			to[j * BLOCK + i] = 0;
}

/*
 * Value j of a point is in the lane that j has in the row: so in d vectors the lanes come round to
 * the first dimension again.
 */
TARGET static void NAME(box)(const void *given, size_t n, unsigned d, double *least,
			     double *negated, void *scratch)
{
	const REAL *x = given;
	NAME(vector) *low = scratch, *high = low + d;
	size_t i = 0;

	for (unsigned v = 0; v < d; v++) {
		low[v] = (NAME(vector)){ 0 } + (REAL)INFINITY;
		high[v] = (NAME(vector)){ 0 } + (REAL)INFINITY;
	}
	for (; n - i >= LANES; i += LANES, x += d * LANES)
		for (unsigned v = 0; v < d; v++) {
			low[v] = LESSER(low[v], *(const NAME(unaligned) *)(x + v * LANES));
			high[v] = LESSER(high[v], -*(const NAME(unaligned) *)(x + v * LANES));
		}
	for (unsigned j = 0; j < d; j++)
		least[j] = negated[j] = INFINITY;
	for (size_t e = 0; e < d * LANES; e++) {
		least[e % d] = fmin(least[e % d], (double)((const REAL *)low)[e]);
		negated[e % d] = fmin(negated[e % d], (double)((const REAL *)high)[e]);
	}
	for (; i < n; i++, x += d)
		for (unsigned j = 0; j < d; j++) {
			least[j] = fmin(least[j], (double)x[j]);
			negated[j] = fmin(negated[j], -(double)x[j]);
		}
}

/*
 * Of a block's first n points, those that have another label than before, or none before, go from
 * cluster to cluster. They are listed first, without a branch, which would be guessed wrong too
 * often.
 */
TARGET static void NAME(move)(struct sums *s, const void *block, const double *scale, size_t n,
			      uint32_t *before, const uint32_t *label)
{
	unsigned mover[BLOCK], movers = 0;

	for (unsigned i = 0; i < n; i++) {
		mover[movers] = i;
		movers += label[i] != before[i];
	}
	for (unsigned m = 0; m < movers; m++) {
		const uint32_t from = before[mover[m]], to = label[mover[m]];
		const REAL *x = (const REAL *)block + mover[m];
		unsigned j = 0;

		sums_count(s, from, to);
		for (; s->d - j >= 8; j += 8, x += 8 * BLOCK) {
			const NAME(eight)
				eight = { x[0],		x[BLOCK],     x[2 * BLOCK], x[3 * BLOCK],
					  x[4 * BLOCK], x[5 * BLOCK], x[6 * BLOCK], x[7 * BLOCK] };

			SUMS_MOVE_EIGHT(s, j,
					__builtin_convertvector(eight, eight_reals) *
							*(const eight_reals *)(scale + j) +
						SUM_MAGIC,
					from, to);
		}
		for (; j < s->d; j++, x += BLOCK)
			sums_move_one(s, j, sum_term((double)*x, scale[j]), from, to);
		before[mover[m]] = to;
	}
}

/*
 * Centres in the order in which they are read: of each group dimension by dimension. Those that
 * fill up the last group are infinitely far.
 */
TARGET static void NAME(pack)(struct packed *to, const void *centre, const void *half)
{
	const REAL *c = centre, *h = half;
	REAL *value = to->value, *halves = to->half;

	for (unsigned i = 0; i < to->groups * GROUP; i++) {
		halves[i] = i < to->k ? h[i] : (REAL)INFINITY;
		for (unsigned j = 0; j < to->d; j++)
			value[((size_t)(i / GROUP) * to->d + j) * GROUP + i % GROUP] =
				i < to->k ? c[(size_t)i * to->d + j] : 0;
	}
}

/*
 * Keeps both units for multiply-adds busy: more chains than a unit's latency, and all in registers.
 */
TARGET static void NAME(spin)(void *values, size_t turns)
{
	NAME(vector)
	s[CHAINS], x = SPLAT((const REAL *)values), c = SPLAT((const REAL *)values + 1);

	UNROLL for (unsigned i = 0; i < CHAINS; i++) s[i] = x + (REAL)i;
	for (; turns; turns--)
		UNROLL for (unsigned i = 0; i < CHAINS; i++)
		{
			s[i] = MINUS_PRODUCT(c, x, s[i]);
			IN_PLACE(s[i]);
		}
	UNROLL for (unsigned i = 1; i < CHAINS; i++) s[0] += s[i];
	*(NAME(vector) *)values = s[0];
}

static const struct tiles
	NAME(tiles) = { BLOCK,		 GROUP,	       LANES,	      NAME(pack),
			NAME(transpose), NAME(box),    NAME(nearest), NAME(nearest_two),
			NAME(of_group),	 NAME(relate), NAME(square),  NAME(lower),
			NAME(near),	 NAME(move),   NAME(spin) };

#undef V
#undef BLOCK
#undef LANES
#undef NAME
#undef REAL
#undef INT
#undef SPLAT
#undef MINUS_PRODUCT
#undef LESSER
#undef NOTE
#undef ROOT
#undef LEAST_LANE
#undef SCORES_OF_FOUR
#undef SELECT
#undef EQUAL
#undef AT_MOST
#undef BITS
#undef GROUP
