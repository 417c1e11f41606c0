/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The coordinates in which a clustering is done: relative to the middle of the box of all points,
 * in a unit by which it lies between -1 and 1 (method.h says why); and where in them the centres
 * are. Only worker 0 changes them, but for frame_put_centre(), of different centres.
 */
#ifndef LOCUS_KMEANS_FRAME_H
#define LOCUS_KMEANS_FRAME_H

#include "bench/kmeans/method.h"
#include "kit/carve.h"

struct frame {
	struct stage stage;
	/* What the stage shows as constant. */
	void *origin, *centre, *half;
	double *low, *high, *moved, *scale;
};

/* Cuts its arrays. */
void frame_lay_out(struct frame *, struct carver *, const struct problem *);

/*
 * Once low and high are the box of all points as they are given: makes the box relative, and puts
 * the start centres, which also go to `given` (k rows of d). Scratch: d.
 */
void frame_begin(struct frame *, const struct problem *, double *given, double *scratch);

/*
 * Puts centre c where `value` is, relative, rounded to the points' type. Returns at least how far
 * it moved.
 */
double frame_put_centre(struct frame *, unsigned c, const double *value);

/* A value as it would have been given. */
double frame_given(const struct frame *, double relative, unsigned j);

#endif
