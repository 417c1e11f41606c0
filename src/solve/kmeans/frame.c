/* SPDX-License-Identifier: Apache-2.0 */
#include <float.h>
#include <math.h>

#include "solve/kmeans/workspace.h"

void frame_lay_out(struct frame *f, struct carver *c, const struct problem *p)
{
	const size_t d = p->points.d, k = p->k, real = real_bytes(p->points.real);

	f->origin = carve(c, (d + 1) * real);
	f->centre = carve(c, k * d * real);
	f->half = carve(c, k * real);
	f->low = carve(c, d * sizeof(double));
	f->high = carve(c, d * sizeof(double));
	f->scale = carve(c, d * sizeof(double));
	f->moved = carve(c, k * sizeof(double));
	f->stage = (struct stage){ .real = p->points.real,
				   .d = p->points.d,
				   .k = p->k,
				   .all = p->all,
				   .origin = f->origin,
				   .centre = f->centre,
				   .half = f->half,
				   .low = f->low,
				   .high = f->high,
				   .moved = f->moved,
				   .scale = f->scale,
				   .iterations = p->iterations,
				   .widest = ISAS - 1 };
}

/*
 * The relative coordinate, computed in the points' type: (given - origin) * unit, except for a
 * difference that overflows.
 */
static double relative(const struct frame *f, double given, unsigned j)
{
	const unsigned d = f->stage.d;
	const double *wide = f->origin;
	const float *narrow = f->origin;

	if (f->stage.real == REAL_FLOAT)
		return (double)((float)given * narrow[d] - narrow[j] * narrow[d]);
	return given * wide[d] - wide[j] * wide[d];
}

double frame_given(const struct frame *f, double relative, unsigned j)
{
	return real_get(f->stage.real, f->origin, j) +
	       relative / real_get(f->stage.real, f->origin, f->stage.d);
}

/* The least move that is not 0: values that depend on a moved centre are computed again. */
#define LEAST_MOVE ((double)FLT_MIN)

double frame_put_centre(struct frame *f, unsigned c, const double *value)
{
	const unsigned d = f->stage.d;
	double square = 0, moved = 0, least = 0;

	for (unsigned j = 0; j < d; j++) {
		const size_t at = (size_t)c * d + j;
		const double old = real_get(f->stage.real, f->centre, at),
			     given = f->stage.real == REAL_FLOAT ? (double)(float)value[j]
								 : value[j],
			     now = relative(f, given, j);

		least = given < f->given[at] || given > f->given[at] ? LEAST_MOVE : least;
		f->given[at] = given;
		real_set(f->stage.real, f->centre, at, now);
		square += now * now;
		moved += (now - old) * (now - old);
	}
	real_set(f->stage.real, f->half, c, square / 2);
	return fmax(sqrt(moved) * (1 + (d + 4) * DBL_EPSILON), least);
}

/*
 * Sets the scales of sums and the bounds of rounding errors, from the box of the points and from
 * start centres outside it.
 *
 * Let u be half of EPSILON, and M = |c|^2 / 2 + |x||c|, which far / 2 + sqrt(far * square) bounds.
 * A score is off by at most (d + 3) u M: by u M for each of d sums; by 3u |x||c| for products (two
 * rounded coordinates and, without fma, the product); by 3u |c|^2 / 2 for the half square (twice a
 * rounded coordinate; its own type). So two scores are off by less than the slack, (d + 4) 2u M.
 *
 * The distances that decide (exact.h) are of doubles: with v for their u, the half square of one is
 * off by (d + 3) v |x - c|^2 / 2, and |x - c|^2 / 2 is at most 4/3 of that bound of M. Two of them
 * add 4/3 of the slack for doubles, and 2^-28 of it for floats.
 *
 * The hundredth on top is for terms of higher order (up to 10^5 dimensions) and for the rounding of
 * differences of scores, and of the margin, to the type.
 */
static void bound(struct frame *f)
{
	const unsigned d = f->stage.d;
	const bool order_is_float = f->stage.real == REAL_FLOAT;
	double square = 0, far, most;

	for (unsigned j = 0; j < d; j++) {
		most = fmax(-f->low[j], f->high[j]);
		f->scale[j] = sum_scale(most, f->stage.all);
		square += most * most;
	}
	f->stage.reach = sqrt(square) * (1 + (d + 4) * DBL_EPSILON);
	far = square;
	for (unsigned c = 0; c < f->stage.k; c++)
		far = fmax(far, 2 * real_get(f->stage.real, f->half, c));
	f->stage.slack = (d + 4) * ((order_is_float ? FLT_EPSILON : DBL_EPSILON) *
					    (far / 2 + sqrt(far * square)) +
				    (order_is_float ? FLT_MIN : DBL_MIN));
	f->stage.margin = (order_is_float ? 1.01 : 2.35) * f->stage.slack;
}

/* The power of two that scales twice [-half, half] into [-1, 1], or nearly. */
static double unit(double half, enum real real)
{
	const int most = real == REAL_FLOAT ? FLT_MAX_EXP - 2 : DBL_MAX_EXP - 2,
		  least = real == REAL_FLOAT ? FLT_MIN_EXP - 1 : DBL_MIN_EXP - 1;
	int exponent;

	frexp(half, &exponent);
	exponent = -exponent - 1;
	return half > 0 ? ldexp(1, exponent > most    ? most
				   : exponent < least ? least
						      : exponent)
			: 1;
}

/* Half the distance from the origin; the whole may overflow. */
static double half_apart(const struct frame *f, double given, unsigned j)
{
	return fabs(given / 2 - real_get(f->stage.real, f->origin, j) / 2);
}

/* Sets origin, the middle of the box, and the unit, for points and start centres. */
static void find_middle(struct frame *f, const struct problem *p)
{
	const enum real real = f->stage.real;
	const unsigned d = f->stage.d;
	double half = 0;

	for (unsigned j = 0; j < d; j++) {
		real_set(real, f->origin, j, f->low[j] / 2 + f->high[j] / 2);
		half = fmax(half, fmax(half_apart(f, f->low[j], j), half_apart(f, f->high[j], j)));
		for (unsigned c = 0; c < p->k; c++)
			half = fmax(half,
				    half_apart(f, real_get(real, p->start, (size_t)c * d + j), j));
	}
	real_set(real, f->origin, d, unit(half, real));
}

void frame_begin(struct frame *f, const struct problem *p, double *given, double *scratch)
{
	const unsigned d = f->stage.d;

	f->stage.given = f->given = given;
	find_middle(f, p);
	for (unsigned j = 0; j < d; j++) {
		f->low[j] = relative(f, f->low[j], j);
		f->high[j] = relative(f, f->high[j], j);
	}
	for (unsigned c = 0; c < f->stage.k; c++) {
		for (unsigned j = 0; j < d; j++)
			scratch[j] = real_get(f->stage.real, p->start, (size_t)c * d + j);
		frame_put_centre(f, c, scratch);
		f->moved[c] = 0;
	}
	bound(f);
	f->stage.iteration = f->stage.computed = 0;
}
