/* SPDX-License-Identifier: Apache-2.0 */
/* The memory of a ladder's workers. */
#ifndef LOCUS_KMEANS_LADDER_STATE_H
#define LOCUS_KMEANS_LADDER_STATE_H

#include "bench/kmeans/problem.h"
#include "bench/kmeans/rung.h"
#include "kit/shares.h"
#include "base/apart.h"
#include "machine/memory/region.h"

/* Written by one worker only. */
struct own {
	_Alignas(APART) uint64_t changed;
	double *sum; /* d: of the current cluster */
	/* k + 1: where each cluster's points end in the worker's share of the order */
	size_t *group;
};

struct ladder {
	struct problem problem;
	enum rung rung;
	bool apart; /* means and sums on different lines */
	/* bytes: between clusters, between a thread's own sums, between threads' sums */
	size_t stride, entry, block;
	unsigned char *clusters, *sums;
	size_t *order; /* RUNG_THREE_PHASES: points by worker, then by cluster */
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
 * Maps regions in the arena and notes their homes; does not touch them. The problem is copied. -1:
 * out of memory; ladder_state_close() must be called then, too.
 */
int ladder_state_open(struct ladder *, const struct problem *, enum rung, struct arena *);
void ladder_state_close(struct ladder *);
/* First touch of the worker's memory. */
void ladder_state_enter(struct ladder *, unsigned worker);

/* Bytes that are mapped. */
size_t ladder_state_bytes(enum rung, const struct problem *);

#endif
