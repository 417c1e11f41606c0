/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Scores with register tiling, and what goes with them. No header: vectors.h includes it into
 * tiles.c once for each instruction set and type.
 *
 * Lanes are points: a block is VECTORS vectors of them, dimension by dimension. The scores of a
 * block for ROWS centres are in registers: a centre's value, broadcast once, serves VECTORS
 * multiplications, and a point's value ROWS. The nearest centre is tracked by GROUP of centres.
 */
/* Sizes that the registers allow: of 32, 24 hold scores, 3 points' values, 1 a centre's. */
#if WIDTH == 64
#define VECTORS	      3
#define ROWS	      8
#define GROUP_VECTORS 1
#elif WIDTH == 32 /* 16 registers: 12 scores */
#define VECTORS	      3
#define ROWS	      4
#define GROUP_VECTORS (8 / LANES)
#else
#define VECTORS	      2
#define ROWS	      4
#define GROUP_VECTORS 2
#endif
#define GROUP (GROUP_VECTORS * LANES) /* centres */
#define BLOCK (VECTORS * LANES)	      /* points */

#include "solve/kmeans/tiles_nearest.h"

/* ---- all but the scores ---- */

/* Makes a point as given relative to the origin. */
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

typedef float NAME(few_floats)
	__attribute__((vector_size(LANES * sizeof(float)), aligned(sizeof(float)), may_alias));

/* Squared distance of two rows; not summed in the order that scores need. */
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
	return (double)(all + TOTAL(sum));
}

/* See struct tiles. */
TARGET static void NAME(squares)(const void *rows, const uint32_t *list, size_t n,
				 const void *other, unsigned d, double *square)
{
	const REAL *const from = rows;

	for (size_t i = 0; i < n; i++) {
		if (i + FEW_ROWS < n)
			prefetch_row(from + (size_t)list[i + FEW_ROWS] * d, d * sizeof(REAL));
		square[i] = NAME(square)(from + (size_t)list[i] * d, other, d);
	}
}

/* See struct tiles. */
TARGET static void NAME(total)(void *total, const void *rows, const uint32_t *list, size_t n,
			       unsigned d)
{
	REAL *to = total;

	memset(to, 0, d * sizeof(REAL));
	for (size_t i = 0; i < n; i++) {
		const REAL *from = (const REAL *)rows + (size_t)list[i] * d;
		unsigned j = 0;

		for (; d - j >= LANES; j += LANES)
			*(NAME(unaligned) *)(to + j) += *(const NAME(unaligned) *)(from + j);
		for (; j < d; j++)
			to[j] += from[j];
	}
}

/* See struct tiles. */
TARGET static void NAME(floats)(float *to, const void *rows, const uint32_t *list, unsigned n,
				unsigned d)
{
	for (unsigned i = 0; i < n; i++, to += d) {
		const REAL *from = (const REAL *)rows + (size_t)list[i] * d;
		unsigned j = 0;

		for (; d - j >= LANES; j += LANES)
			*(NAME(few_floats) *)(to + j) = __builtin_convertvector(
				*(const NAME(unaligned) *)(from + j), NAME(few_floats));
		for (; j < d; j++)
			to[j] = (float)from[j];
	}
}

/* See struct tiles. */
TARGET static unsigned NAME(near)(const void *scores, unsigned n, double limit, uint16_t *near,
				  double *least)
{
	const REAL *s = scores;
	const NAME(vector) most = (NAME(vector)){ 0 } + (REAL)limit;
	NAME(vector) all = (NAME(vector)){ 0 } + (REAL)INFINITY;
	unsigned found = 0, e = 0;

	for (; n - e >= LANES; e += LANES) {
		const NAME(vector) score = *(const NAME(unaligned) *)(s + e);

		for (unsigned bits = BITS(AT_MOST(score, most)); bits; bits &= bits - 1)
			near[found++] = (uint16_t)(e + (unsigned)__builtin_ctz(bits));
		all = MIN(all, score);
	}
	*least = (double)LEAST(all);
	for (; e < n; e++) {
		near[found] = (uint16_t)e;
		found += s[e] <= (REAL)limit;
		*least = (double)s[e] < *least ? (double)s[e] : *least;
	}
	return found;
}

/*
 * Makes a block, relative to the origin, of n <= BLOCK points as given. Unused lanes become the
 * origin.
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
 * Rows are read as they lie in memory: LANES rows fill d vectors, then lanes and dimensions align
 * again.
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
			low[v] = MIN(low[v], *(const NAME(unaligned) *)(x + v * LANES));
			high[v] = MIN(high[v], -*(const NAME(unaligned) *)(x + v * LANES));
		}
	for (unsigned j = 0; j < d; j++) {
		REAL below = (REAL)INFINITY, above = -below;

		for (size_t e = j; e < d * LANES; e += d) {
			const REAL a = ((const REAL *)low)[e], b = -((const REAL *)high)[e];

			below = a < below ? a : below;
			above = b > above ? b : above;
		}
		for (size_t e = 0; e < n - i; e++) {
			const REAL a = x[e * d + j];

			below = a < below ? a : below;
			above = a > above ? a : above;
		}
		least[j] = (double)below;
		negated[j] = -(double)above;
	}
}

typedef REAL NAME(eight) __attribute__((vector_size(8 * sizeof(REAL))));

/*
 * Moves the points with a new label, of n <= BLOCK points. Lists them first, without a branch,
 * which would be mispredicted too often. `apart`: distance of a point's values; `step`: of points.
 */
TARGET __attribute__((always_inline)) static inline void
NAME(move_some)(struct sums *s, const REAL *points, const size_t apart, size_t step,
		const double *scale, size_t n, uint32_t *before, const uint32_t *label)
{
	unsigned mover[MOST_BLOCK], movers = 0;

	for (unsigned i = 0; i < n; i++) {
		mover[movers] = i;
		movers += label[i] != before[i];
	}
	for (unsigned m = 0; m < movers; m++) {
		const uint32_t from = before[mover[m]], to = label[mover[m]];
		const REAL *x = points + mover[m] * step;
		unsigned j = 0;

		sums_count(s, 1, from, to);
		for (; s->d - j >= 8; j += 8, x += 8 * apart) {
			NAME(eight) eight;

			if (apart == 1)
				memcpy(&eight, x, sizeof(eight));
			else
				eight = (NAME(eight)){ x[0],	     x[apart],	   x[2 * apart],
						       x[3 * apart], x[4 * apart], x[5 * apart],
						       x[6 * apart], x[7 * apart] };
			SUMS_MOVE_EIGHT(s, j,
					__builtin_convertvector(eight, eight_reals) *
							*(const eight_reals *)(scale + j) +
						SUM_MAGIC,
					from, to);
		}
		for (; j < s->d; j++, x += apart)
			sums_move_one(s, j, sum_term((double)*x, scale[j]), from, to);
		before[mover[m]] = to;
	}
}

/* See struct tiles. */
TARGET static void NAME(move)(struct sums *s, const void *block, const double *scale, size_t n,
			      uint32_t *before, const uint32_t *label)
{
	NAME(move_some)(s, block, BLOCK, 1, scale, n, before, label);
}

/* See struct tiles. */
TARGET static void NAME(move_rows)(struct sums *s, const void *rows, const double *scale, size_t n,
				   uint32_t *before, const uint32_t *label)
{
	NAME(move_some)(s, rows, 1, s->d, scale, n, before, label);
}

/*
 * Packs centres in the order in which they are read: by group, then by dimension. The last group is
 * padded with centres infinitely far away.
 */
TARGET static void NAME(pack)(struct packed *to, const void *centre, const void *half,
			      const uint32_t *list)
{
	const REAL *c = centre, *h = half;
	REAL *value = to->value, *halves = to->half;

	for (unsigned i = 0; i < to->groups * GROUP; i++) {
		REAL *const v = value + (size_t)(i / GROUP) * to->d * GROUP + i % GROUP;
		const size_t which = list && i < to->k ? list[i] : i;

		halves[i] = i < to->k ? h[which] : (REAL)INFINITY;
		if (i < to->k)
			for (size_t j = 0; j < to->d; j++)
				v[j * GROUP] = c[which * to->d + j];
		else
			for (size_t j = 0; j < to->d; j++)
				v[j * GROUP] = 0;
	}
}

/*
 * Keeps all FMA units busy: more independent chains than latency times units, all in registers.
 */
TARGET static void NAME(spin)(void *values, size_t turns)
{
	NAME(vector)
	s[CHAINS], x = SPLAT(*(const REAL *)values), c = SPLAT(((const REAL *)values)[1]);

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

static const struct tiles NAME(tiles) = { BLOCK,
					  GROUP,
					  LANES,
					  NAME(pack),
					  NAME(transpose),
					  NAME(box),
					  NAME(nearest_apart),
					  NAME(nearest_listed),
					  NAME(two_of_rows),
					  NAME(scores),
					  NAME(rivals),
					  NAME(relate),
					  NAME(square),
					  NAME(squares),
					  NAME(total),
					  NAME(floats),
					  NAME(near),
					  NAME(move),
					  NAME(move_rows),
					  NAME(spin) };

#undef VECTORS
#undef ROWS
#undef GROUP
#undef GROUP_VECTORS
#undef BLOCK
