/* SPDX-License-Identifier: Apache-2.0 */
#include <float.h>
#include <math.h>

#include "bench/kmeans/frame.h"

#define FARTHEST 1e17 /* a sum of its squares over all dimensions fits a float */

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
 * The relative coordinate, computed in the points' type and clamped to FARTHEST, so that squares do
 * not overflow. (So a start centre beyond FARTHEST moves.)
 */
static double relative(const struct frame *f, double given, unsigned j)
{
	const unsigned d = f->stage.d;
	double value;

	if (f->stage.real == REAL_FLOAT)
		value = (double)(((float)given - ((const float *)f->origin)[j]) *
				 ((const float *)f->origin)[d]);
	else
		value = (given - ((const double *)f->origin)[j]) * ((const double *)f->origin)[d];
	return fmax(-FARTHEST, fmin(value, FARTHEST));
}

double frame_given(const struct frame *f, double relative, unsigned j)
{
	return real_get(f->stage.real, f->origin, j) +
	       relative / real_get(f->stage.real, f->origin, f->stage.d);
}

double frame_put_centre(struct frame *f, unsigned c, const double *value)
{
	const unsigned d = f->stage.d;
	double square = 0, moved = 0;

	for (unsigned j = 0; j < d; j++) {
		const double old = real_get(f->stage.real, f->centre, (size_t)c * d + j);
		double now;

		real_set(f->stage.real, f->centre, (size_t)c * d + j, value[j]);
		now = real_get(f->stage.real, f->centre, (size_t)c * d + j);
		square += now * now;
		moved += (now - old) * (now - old);
	}
	real_set(f->stage.real, f->half, c, square / 2);
	return sqrt(moved) * (1 + (d + 4) * DBL_EPSILON);
}

/*
 * Sets the scales of sums and the bounds of rounding errors, from the box of the points and from
 * start centres outside it.
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
}

/* The power of two that scales [-half, half] into [-1, 1]. */
static double unit(double half, enum real real)
{
	const int most = real == REAL_FLOAT ? FLT_MAX_EXP - 2 : DBL_MAX_EXP - 2;
	int exponent;

	frexp(half, &exponent);
	return half > 0 ? ldexp(1, -exponent > most ? most : -exponent) : 1;
}

/* Sets origin and unit. */
static void find_middle(struct frame *f)
{
	const enum real real = f->stage.real;
	double half = 0;

	for (unsigned j = 0; j < f->stage.d; j++) {
		real_set(real, f->origin, j, f->low[j] / 2 + f->high[j] / 2);
		half = fmax(half, fmax(f->high[j] - real_get(real, f->origin, j),
				       real_get(real, f->origin, j) - f->low[j]));
	}
	real_set(real, f->origin, f->stage.d, unit(half, real));
}

void frame_begin(struct frame *f, const struct problem *p, double *given, double *scratch)
{
	const unsigned d = f->stage.d;

	find_middle(f);
	for (unsigned j = 0; j < d; j++) {
		f->low[j] = relative(f, f->low[j], j);
		f->high[j] = relative(f, f->high[j], j);
	}
	for (unsigned c = 0; c < f->stage.k; c++) {
		for (unsigned j = 0; j < d; j++) {
			const size_t at = (size_t)c * d + j;

			given[at] = real_get(f->stage.real, p->start, at);
			scratch[j] = relative(f, given[at], j);
		}
		frame_put_centre(f, c, scratch);
		f->moved[c] = 0;
	}
	bound(f);
	f->stage.iteration = f->stage.computed = 0;
}
