/* SPDX-License-Identifier: Apache-2.0 */
/* All memory of a clustering. */
#ifndef LOCUS_KMEANS_WORKSPACE_H
#define LOCUS_KMEANS_WORKSPACE_H

#include "bench/kmeans/frame.h"
#include "bench/kmeans/method.h"
#include "bench/kmeans/problem.h"

struct workspace {
	struct frame frame;
	struct solution solution;
	struct share *share; /* by worker */
	/*
	 * by worker: the least values of its points, the negated largest, and scratch APART from it
	 */
	double *box;
	size_t box_stride;
	struct sums change, total; /* of this rank, then of all; of all iterations */
	void *memory;
	size_t bytes;
};

/* Bytes that are mapped. Where points lie need not be known. */
size_t workspace_bytes(const struct problem *, const struct choice *);

/* Mapped and not touched. -1 with errno. workspace_close() also then. */
int workspace_open(struct workspace *, const struct problem *, const struct choice *);
void workspace_close(struct workspace *);

/* The worker touches first what will be its own. */
void workspace_enter(struct workspace *, unsigned worker);

#endif
