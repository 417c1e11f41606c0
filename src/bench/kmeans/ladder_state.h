/* SPDX-License-Identifier: Apache-2.0 */
/* What the workers of a ladder share, and where it lies. */
#ifndef LOCUS_KMEANS_LADDER_STATE_H
#define LOCUS_KMEANS_LADDER_STATE_H

#include "bench/kmeans/problem.h"
#include "bench/kmeans/rung.h"
#include "kit/shares.h"
#include "base/apart.h"
#include "machine/memory/region.h"

/* What a worker alone writes. */
struct own {
	_Alignas(APART) uint64_t changed;
	double *sum; /* d: of the cluster at hand */
	/* k + 1: where its points of each cluster end in its part of the order */
	size_t *group;
};

struct ladder {
	struct problem problem;
	enum rung rung;
	bool apart; /* means from sums */
	/* bytes: of clusters, of a thread's own sums; from one thread's sums to the next one's */
	size_t stride, entry, block;
	unsigned char *clusters, *sums;
	size_t *order; /* THREE_PHASES: points by worker, then by cluster */
	struct solution solution;
	struct own *own;
};

static inline size_t begin_of(const struct ladder *l, unsigned worker)
{
	return share_begin(l->problem.points.n, worker, l->problem.threads);
}

static inline size_t end_of(const struct ladder *l, unsigned worker)
{
	return begin_of(l, worker + 1);
}

/*
 * Mapped in the arena, with claims, and not touched. The problem is copied. -1: no memory;
 * ladder_ladder_ladder_state_close() also then.
 */
int ladder_state_open(struct ladder *, const struct problem *, enum rung, struct arena *);
void ladder_state_close(struct ladder *);
/* The worker touches what will be its own. */
void ladder_state_enter(struct ladder *, unsigned worker);

/* Bytes that are mapped. */
size_t ladder_state_bytes(enum rung, const struct problem *);

#endif
