/* SPDX-License-Identifier: Apache-2.0 */
/* The coordinate system of a clustering, and all its memory. */
#ifndef LOCUS_KMEANS_WORKSPACE_H
#define LOCUS_KMEANS_WORKSPACE_H

#include "kit/carve.h"
#include "solve/kmeans/method.h"

/*
 * Relative to the middle of the box of all points, scaled into [-1, 1], or nearly (method.h says
 * why); and the centres in it. Only worker 0 changes it; but workers may call frame_put_centre() at
 * once, for different centres.
 */
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

struct workspace {
	struct frame frame;
	struct solution solution;
	struct share *share; /* by worker */
	struct joint joint;
	size_t row; /* bytes of a joint row */
	/*
	 * by worker: least values of its points, negated largest values; APART from these, scratch
	 */
	double *box;
	size_t box_stride;
	/* change: of this rank, then of all ranks; total: over all iterations */
	struct sums change, total;
	bool own;     /* sums are relative to each cluster's own largest values: sums.h */
	double *most; /* k rows of d: these */
	void *common; /* what all workers share, but for the labels */
	size_t common_bytes;
};

/* Bytes that are mapped. points.x is not used. */
size_t workspace_bytes(const struct problem *, const struct choice *);

/*
 * Maps blocks and claims each worker's part, without touching it. -1 with errno; workspace_close()
 * must be called then, too.
 */
int workspace_open(struct workspace *, const struct problem *, const struct choice *,
		   const struct lloyd_memory *);
void workspace_close(struct workspace *);

/* First touch of the worker's memory. */
void workspace_enter(struct workspace *, unsigned worker);

#endif
