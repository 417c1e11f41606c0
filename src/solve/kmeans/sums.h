/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Order-independent sums, the same with any number of threads and ranks: sums of integers. A value
 * x becomes the integer nearest to x * scale, where scale is a power of two; a sum has 64 bits.
 *
 * Range: |x| * scale <= 2^sum_bits(points) <= 2^51, and points * 2^sum_bits <= 2^62: no sum of all
 * points can overflow. Resolution: half a unit per value, and up to 2^(sum_bits - 1) units for the
 * box's half width, so the error of a mean is at most 2^-sum_bits of it: 2^-44 with 200,000 points,
 * 2^-41 with 2 million. Where some points lie so far out that this is too coarse for the others,
 * sums are made by outliers.c.
 *
 * Integers are subtracted without error, so sums are updated by the points that moved: those whose
 * label stays cost nothing.
 */
#ifndef LOCUS_KMEANS_SUMS_H
#define LOCUS_KMEANS_SUMS_H

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "kit/real.h"

/*
 * Added to a double, it leaves an integer in the low bits. It stays in the terms; their sum loses
 * it once: sums_remove_magic().
 */
#define SUM_MAGIC      0x1.8p52
#define SUM_MAGIC_BITS INT64_C(0x4338000000000000)

/* Contiguous from `sum` on, so that ranks can add them up in one call. */
struct sums {
	unsigned d, k;
	int64_t *sum;	/* of the values: k rows of d */
	int64_t *count; /* of the points: k */
	/* how many points changed their cluster, or got their first one */
	int64_t *moves;
	int64_t *computed; /* distances computed */
};

static inline size_t sums_length(unsigned d, unsigned k)
{
	return (size_t)k * d + k + 2;
}

static inline struct sums sums_at(int64_t *row, unsigned d, unsigned k)
{
	int64_t *tail = row ? row + (size_t)k * d + k : NULL;

	return (struct sums){ d, k, row, row ? tail - k : NULL, tail, row ? tail + 1 : NULL };
}

static inline void sums_clear(struct sums *s)
{
	memset(s->sum, 0, sums_length(s->d, s->k) * sizeof(*s->sum));
}

/* Bits of a value, so that a sum of so many points does not overflow. */
static inline int sum_bits(size_t points)
{
	int bits = 62;

	while (bits > 0 && points > UINT64_C(1) << (62 - bits))
		bits--;
	return bits < 51 ? bits : 51;
}

/*
 * The scale for values up to `most` in absolute value. Between 2^-1000 and 2^1000, so that a
 * product with it is exact enough.
 */
static inline double sum_scale(double most, size_t points)
{
	int exponent;

	if (most == 0)
		return 1;
	frexp(most, &exponent); /* most <= 2^exponent */
	exponent = sum_bits(points) - exponent;
	return ldexp(1, exponent > 1000 ? 1000 : exponent);
}

/*
 * The integer of a value, plus SUM_MAGIC_BITS. The product is exact: the result is the same with
 * and without fma.
 */
static inline int64_t sum_term(double x, double scale)
{
	const double shifted = x * scale + SUM_MAGIC;
	int64_t bits;

	memcpy(&bits, &shifted, sizeof(bits));
	return bits;
}

/* Adds cluster c of `from` to cluster c of `to`. */
static inline void sums_join(struct sums *to, const struct sums *from, unsigned c)
{
	uint64_t *sum = (uint64_t *)to->sum + (size_t)c * to->d;
	const uint64_t *more = (const uint64_t *)from->sum + (size_t)c * to->d;

	to->count[c] += from->count[c];
	for (unsigned j = 0; j < to->d; j++)
		sum[j] += more[j];
}

/*
 * Subtracts SUM_MAGIC_BITS for each of cluster c's points. Sums wrap around 2^64 on the way; the
 * result is in range.
 */
static inline void sums_remove_magic(struct sums *s, unsigned c)
{
	uint64_t *sum = (uint64_t *)s->sum + (size_t)c * s->d;

	for (unsigned j = 0; j < s->d; j++)
		sum[j] -= (uint64_t)s->count[c] * (uint64_t)SUM_MAGIC_BITS;
}

#define SUM_NONE UINT32_MAX /* no cluster */

/*
 * Moves a point from one cluster (or SUM_NONE) to another: first the counts, then its values, by
 * dimension.
 */
static inline void sums_count(struct sums *s, int64_t n, uint32_t from, uint32_t to)
{
	*s->moves += n;
	s->count[to] += n;
	if (from != SUM_NONE)
		s->count[from] -= n;
}

static inline void sums_move_one(struct sums *s, unsigned j, int64_t term, uint32_t from,
				 uint32_t to)
{
	uint64_t *sum = (uint64_t *)s->sum;

	sum[(size_t)to * s->d + j] += (uint64_t)term;
	if (from != SUM_NONE)
		sum[(size_t)from * s->d + j] -= (uint64_t)term;
}

/* Moves n points at once: `term` has the sum of their terms, by dimension. */
static inline void sums_move_many(struct sums *s, int64_t n, const uint64_t *term, uint32_t from,
				  uint32_t to)
{
	sums_count(s, n, from, to);
	for (unsigned j = 0; j < s->d; j++)
		sums_move_one(s, j, (int64_t)term[j], from, to);
}

/* sums_move_one() of eight dimensions, from j on; `reals`: the terms, as doubles. */
typedef double eight_reals
	__attribute__((vector_size(8 * sizeof(double)), aligned(sizeof(double)), may_alias));
typedef uint64_t eight_integers
	__attribute__((vector_size(8 * sizeof(uint64_t)), aligned(sizeof(uint64_t)), may_alias));
#define SUMS_MOVE_EIGHT(s, j, reals, from, to)                                           \
	do {                                                                             \
		const eight_reals terms = (reals);                                       \
                                                                                         \
		*(eight_integers *)((s)->sum + (size_t)(to) * (s)->d + (j)) +=           \
			(eight_integers)terms;                                           \
		if ((from) != SUM_NONE)                                                  \
			*(eight_integers *)((s)->sum + (size_t)(from) * (s)->d + (j)) -= \
				(eight_integers)terms;                                   \
	} while (0)

/* Moves a whole point. One for each type of values. */
#define SUMS_MOVE(name, REAL)                                                                      \
	static inline void name(struct sums *s, const REAL *x, const double *scale, uint32_t from, \
				uint32_t to)                                                       \
	{                                                                                          \
		sums_count(s, 1, from, to);                                                        \
		for (unsigned j = 0; j < s->d; j++)                                                \
			sums_move_one(s, j, sum_term((double)x[j], scale[j]), from, to);           \
	}
SUMS_MOVE(sums_move_double, double)
SUMS_MOVE(sums_move_float, float)
#undef SUMS_MOVE

static inline void sums_move(struct sums *s, enum real real, const void *x, const double *scale,
			     uint32_t from, uint32_t to)
{
	if (real == REAL_FLOAT)
		sums_move_float(s, x, scale, from, to);
	else
		sums_move_double(s, x, scale, from, to);
}

#endif
