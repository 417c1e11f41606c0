/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decides a label if scores cannot: by squared distances from differences of the given coordinates.
 * Their rounding is relative to the distance itself, however large other coordinates are.
 */
#include <math.h>

#include "solve/kmeans/nearest.h"

#define INLINE static inline __attribute__((always_inline))

enum { STRIDE = 16 }; /* dimensions between checks whether the distance is already too long */

/* Between these, a double holds a sum of squares to within its rounding. */
#define LEAST_SQUARE 0x1p-900
#define MOST_SQUARE  0x1p1000

/*
 * A power of two for differences from centres: the range of long double may be that of double
 * (IBM's), and with it the squares of the nearest centre fit. So they are exact to their rounding,
 * and those of centres far beyond it are infinite.
 */
static double scale_for(const struct stage *g, const void *given, const uint32_t *list, unsigned n)
{
	double least = INFINITY;

	for (unsigned i = 0; i < n; i++) {
		const double *centre = g->given + (size_t)(list ? list[i] : i) * g->d;
		double most = 0;

		for (unsigned j = 0; j < g->d; j++)
			most = fmax(most, fabs(real_get(g->real, given, j) - centre[j]));
		least = fmin(least, most);
	}
	return least > 0x1p400 ? 0x1p-600 : least < 0x1p-400 ? 0x1p600 : 1;
}

/* Squares of doubles, and their differences, may exceed a double. */
static long double wide_square(const struct stage *g, const void *given, const double *centre,
			       double scale)
{
	/* large differences may exceed a double; values with small ones may be large */
	const long double before = fmin(scale, 1), after = fmax(scale, 1);
	long double sum = 0;

	for (unsigned j = 0; j < g->d; j++) {
		const double x = real_get(g->real, given, j);
		const long double apart = (x * before - centre[j] * before) * after;

		sum += apart * apart;
	}
	return sum;
}

/* Every CPU has vectors of two doubles; two of them sum up four coordinates at a time. */
typedef double two_doubles
	__attribute__((vector_size(2 * sizeof(double)), aligned(sizeof(double)), may_alias));
typedef float two_floats
	__attribute__((vector_size(2 * sizeof(float)), aligned(sizeof(float)), may_alias));

/* Two coordinates, from the i-th on. */
INLINE two_doubles two_of(enum real real, const void *given, unsigned i)
{
	if (real == REAL_FLOAT)
		return __builtin_convertvector(*(const two_floats *)((const float *)given + i),
					       two_doubles);
	return *(const two_doubles *)((const double *)given + i);
}

/*
 * In a fixed order, so that all methods find the same. Ends early, with INFINITY, if the square
 * exceeds `most`.
 */
INLINE double square_of(enum real real, const void *given, const double *centre, unsigned d,
			double most)
{
	two_doubles sum[2] = { { 0, 0 }, { 0, 0 } };
	double rest = 0;
	unsigned j = 0;

	for (; d - j >= 4; j += 4) {
		for (unsigned half = 0; half < 2; half++) {
			const unsigned at = j + 2 * half;
			const two_doubles apart =
				two_of(real, given, at) - *(const two_doubles *)(centre + at);

			sum[half] += apart * apart;
		}
		if (j % STRIDE == STRIDE - 4 && (sum[0] + sum[1])[0] > most)
			return INFINITY;
	}
	for (; j < d; j++) {
		const double apart = real_get(real, given, j) - centre[j];

		rest += apart * apart;
	}
	sum[0] += sum[1];
	return sum[0][0] + sum[0][1] + rest;
}

/*
 * Finds the nearest of n listed centres by doubles. False: squares are too short, or all too long,
 * to be decided by doubles.
 */
INLINE bool by_doubles(enum real real, const struct stage *g, const void *given,
		       const uint32_t *list, unsigned n, uint32_t *nearest)
{
	double least = INFINITY;

	for (unsigned i = 0; i < n; i++) {
		const uint32_t c = list ? list[i] : i;
		const double now = square_of(real, given, g->given + (size_t)c * g->d, g->d, least);

		if (!(now > LEAST_SQUARE))
			return false;
		if (now < least || (now <= least && c < *nearest)) {
			least = now;
			*nearest = c;
		}
	}
	return least < MOST_SQUARE;
}

/* Decides by doubles if they can hold the squares, else by long doubles. */
static uint32_t by_wide(const struct stage *g, const void *given, const uint32_t *list, unsigned n)
{
	const double scale = scale_for(g, given, list, n);
	long double least = INFINITY;
	uint32_t nearest = UINT32_MAX;

	for (unsigned i = 0; i < n; i++) {
		const uint32_t c = list ? list[i] : i;
		const double *centre = g->given + (size_t)c * g->d;
		const double narrow = square_of(g->real, given, centre, g->d, INFINITY);
		const long double now = narrow > LEAST_SQUARE && narrow < MOST_SQUARE
						? (long double)narrow * scale * scale
						: wide_square(g, given, centre, scale);

		if (now < least || (now <= least && c < nearest)) {
			least = now;
			nearest = c;
		}
	}
	return nearest;
}

uint32_t exact_nearest(const struct stage *g, const void *given, const uint32_t *list, unsigned n)
{
	uint32_t nearest = UINT32_MAX;
	const bool told = g->real == REAL_FLOAT
				  ? by_doubles(REAL_FLOAT, g, given, list, n, &nearest)
				  : by_doubles(REAL_DOUBLE, g, given, list, n, &nearest);

	return told ? nearest : by_wide(g, given, list, n);
}

uint32_t exact_of_packed(const struct share *s, const struct stage *g, const void *given,
			 const struct packed *centres, const uint32_t *list)
{
	const struct tiles *t = tiles_choose(g->real);
	const struct scratch *to = &s->scratch;
	double most;
	unsigned n = 0;

	t->relate(to->row, given, g->origin, g->d);
	most = t->scores(to->row, centres, to->score) + g->margin;
	for (unsigned i = 0; i < centres->k; i++) {
		to->near[n] = list ? list[i] : i;
		n += real_get(g->real, to->score, i) <= most;
	}
	return exact_nearest(g, given, to->near, n);
}

struct scratch exact_carve(struct carver *c, unsigned d, unsigned k)
{
	const size_t centres = round_up(k, 4 * (size_t)MOST_WIDTH);

	return (struct scratch){ .row = carve(c, d * sizeof(double)),
				 .score = carve(c, centres * sizeof(double)),
				 .near = carve(c, (centres + 1) * sizeof(uint32_t)) };
}
