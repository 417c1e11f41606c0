/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The ladder: one and the same k-means, which differs in what its threads share. The first rungs
 * are those of P. Sestoft, "A multicore performance mystery solved" (2017), sections 1 to 3: points
 * are assigned to centres, and added to their cluster's sums under its lock.
 */
#ifndef LOCUS_LADDER_H
#define LOCUS_LADDER_H

#include <stddef.h>

#include "bench/kmeans/problem.h"
#include "kit/spin.h"
#include "machine/region.h"
#include "machine/team.h"

enum rung {
	TWO_PHASES, /* 2p: all points are assigned; then each is added */
	/*
	 * 2q: a point is added as soon as it is assigned, to the line that others read the mean of
	 */
	ONE_PHASE,
	ONE_PHASE_PADDED, /* the same, means and sums apart */
	/*
	 * 3p: each thread assigns and groups its own points; then clusters are made of the groups
	 */
	THREE_PHASES,
	/* each thread adds to sums of its own, which lie between those of others */
	PRIVATE_DENSE,
	PRIVATE_PADDED, /* the same, sums of different threads apart */
	RUNGS
};

/*
 * Where things lie in a cluster of d dimensions, bytes from its beginning, where the mean is: as
 * near as can be, in whole lines, or mean and sums APART. `real`: bytes of a value; sums are of
 * double.
 */
#define LINE		    64
#define ROUND_UP(bytes, to) (((bytes) + (to)-1) / (to) * (to))
#define SUM_AT(d, real, apart) \
	ROUND_UP((size_t)(d) * (real), (apart) ? (size_t)APART : sizeof(double))
#define COUNT_AT(d, real, apart) (SUM_AT(d, real, apart) + (size_t)(d) * sizeof(double))
#define LOCK_AT(d, real, apart)	 (COUNT_AT(d, real, apart) + sizeof(uint64_t))
#define STRIDE(d, real, apart)                                       \
	ROUND_UP(LOCK_AT(d, real, apart) + sizeof(struct spin_lock), \
		 (apart) ? (size_t)APART : (size_t)LINE)

/* What that comes to for the points of the mystery. */
struct cluster {
	_Alignas(LINE) double mean[2];
	double sum[2];
	uint64_t count;
	struct spin_lock lock;
};
struct padded_cluster {
	_Alignas(APART) double mean[2];
	_Alignas(APART) double sum[2];
	uint64_t count;
	struct spin_lock lock;
};
#define LIES(TYPE, APART)                                                                     \
	_Static_assert(sizeof(TYPE) == STRIDE(2, sizeof(double), APART) &&                    \
			       offsetof(TYPE, sum) == SUM_AT(2, sizeof(double), APART) &&     \
			       offsetof(TYPE, count) == COUNT_AT(2, sizeof(double), APART) && \
			       offsetof(TYPE, lock) == LOCK_AT(2, sizeof(double), APART),     \
		       "a cluster lies as it is meant to")
LIES(struct cluster, false);
LIES(struct padded_cluster, true);
_Static_assert(sizeof(struct cluster) == LINE, "2q: mean, sums, count and lock are one line");
_Static_assert(sizeof(struct spin_lock) == 4, "2q: the lock has 4 bytes");
_Static_assert(offsetof(struct padded_cluster, sum) - offsetof(struct padded_cluster, mean) ==
			       APART &&
		       sizeof(struct padded_cluster) - offsetof(struct padded_cluster, sum) ==
			       APART,
	       "2q-padded: whoever adds leaves the means' lines alone");

/* A thread's own sums and count of one cluster. */
#define ENTRY(d) (((size_t)(d) + 1) * sizeof(double))
_Static_assert(2 * ENTRY(2) <= LINE, "private-dense: threads share lines");

struct ladder;

/*
 * Mapped in the arena, with claims, and not touched. NULL with errno. The problem is copied; ranks
 * must be NULL.
 */
struct ladder *ladder_open(const struct problem *, enum rung, struct arena *);
void ladder_enter(struct ladder *, struct worker *); /* each worker: touches what will be its own */
void ladder_work(struct ladder *, struct worker *);  /* all workers; begins anew each time */
/* valid until ladder_close() or the next ladder_work() */
const struct solution *ladder_solution(const struct ladder *);
void ladder_close(struct ladder *); /* NULL is fine; its regions are the arena's */

/* Bytes that ladder_open() maps. */
size_t ladder_bytes(enum rung, size_t n, unsigned d, unsigned k, unsigned threads, enum real);

#endif
