/* SPDX-License-Identifier: Apache-2.0 */
/* All memory of a clustering. */
#ifndef LOCUS_KMEANS_WORKSPACE_H
#define LOCUS_KMEANS_WORKSPACE_H

#include "bench/kmeans/frame.h"
#include "bench/kmeans/method.h"
#include "bench/kmeans/problem.h"
#include "machine/memory/region.h"

struct workspace {
	struct frame frame;
	struct solution solution;
	struct share *share; /* by worker */
	struct joint joint;
	size_t row; /* bytes of each of the joint rows */
	/*
	 * by worker: least values of its points, negated largest values; APART from these, scratch
	 */
	double *box;
	size_t box_stride;
	/* change: of this rank, then of all ranks; total: over all iterations */
	struct sums change, total;
	bool own;     /* sums are relative to each cluster's own largest values: own.h */
	double *most; /* k rows of d: these */
	void *common; /* what all workers share, but for the labels */
	size_t common_bytes;
};

/* Bytes that are mapped. points.x is not used. */
size_t workspace_bytes(const struct problem *, const struct choice *);

/*
 * Maps regions in the arena and claims each worker's part for its node, without touching it. -1
 * with errno; workspace_close() must be called then, too.
 */
int workspace_open(struct workspace *, const struct problem *, const struct choice *,
		   struct arena *);
void workspace_close(struct workspace *);

/* First touch of the worker's memory. */
void workspace_enter(struct workspace *, unsigned worker);

#endif
