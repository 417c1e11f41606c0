/* SPDX-License-Identifier: Apache-2.0 */
/* The coordinate system of a clustering, and all its memory. */
#ifndef LOCUS_KMEANS_WORKSPACE_H
#define LOCUS_KMEANS_WORKSPACE_H

#include "kit/carve.h"
#include "solve/kmeans/method.h"

/*
 * Coordinates relative to the middle of the box of all points, scaled into [-1, 1], or nearly
 * (method.h says why); and the centres in them. Only worker 0 changes the frame; but workers may
 * call frame_put_centre() at once, for different centres.
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

/* Converts a relative coordinate to a given one. */
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
	/* change: on this rank, then on all ranks; total: over all iterations */
	struct sums change, total;
	bool own;	/* sums are relative to each cluster's own extent */
	double *extent; /* as in a share, of all points */
	void *common;	/* what all workers share, except the labels */
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

/*
 * Sums for data with points very far out (outliers.c): sums relative to all points would lose the
 * other points to rounding. These are relative to the extent of the cluster itself, in each
 * dimension. They don't follow the points that move: each iteration adds up all points.
 *
 * sums_need_own: whether such sums are needed, for points within low..high (as given) in each
 * dimension. The start centres' spread decides, so the answer is the same on all ranks. Scratch: d
 * values.
 */
bool sums_need_own(const struct problem *, const double *low, const double *high, double *width);

/* Finds the extents of the share's points, by share->label. */
void sums_find_extent(struct share *, const struct stage *);

/* Adds up the share's points in share->change.sum. `extent` and `count` (k) cover all points. */
void sums_add_own(struct share *, const struct stage *, const double *extent, const int64_t *count);

/* The mean of `count` values within low..high, from their sum. */
double sums_own_mean(int64_t sum, double low, double high, int64_t count);

#endif
