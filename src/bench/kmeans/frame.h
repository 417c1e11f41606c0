/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The coordinate system of a clustering - relative to the middle of the box of all points, scaled
 * into [-1, 1], or nearly (method.h says why) - and the centres in it. Only worker 0 changes it;
 * but workers may call frame_put_centre() at once, for different centres.
 */
#ifndef LOCUS_KMEANS_FRAME_H
#define LOCUS_KMEANS_FRAME_H

#include "bench/kmeans/method.h"
#include "kit/carve.h"

struct frame {
	struct stage stage;
	/* The stage's pointers, writable. */
	void *origin, *centre, *half;
	double *low, *high, *moved, *scale, *given;
};

/* Carves the frame's arrays. */
void frame_lay_out(struct frame *, struct carver *, const struct problem *);

/*
 * Expects low and high to be the box of all points as given; makes it relative. Sets the start
 * centres; from then on `given` (k rows of d) has the centres as given. Scratch: d values.
 */
void frame_begin(struct frame *, const struct problem *, double *given, double *scratch);

/*
 * Moves centre c to `value` (as given), rounded to the points' type. Returns an upper bound of the
 * distance moved; 0 only if it has not moved.
 */
double frame_put_centre(struct frame *, unsigned c, const double *value);

/* From relative to given coordinates. */
double frame_given(const struct frame *, double relative, unsigned j);

#endif
