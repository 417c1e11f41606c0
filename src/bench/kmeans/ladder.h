/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The ladder: versions (rungs) of the same k-means that differ in what threads share. The first
 * rungs are from P. Sestoft, "A multicore performance mystery solved" (2017), sections 1 to 3:
 * points are assigned to centres, and added to their cluster's sums under its lock.
 */
#ifndef LOCUS_KMEANS_LADDER_H
#define LOCUS_KMEANS_LADDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kit/spin.h"
#include "machine/memory/region.h"
#include "machine/threads/team.h"
#include "solve/kmeans/kmeans.h"

enum rung {
	RUNG_TWO_PHASES, /* 2p: first all points are assigned, then added to the sums */
	/* 2q: a point is added as soon as it is assigned; sums share a line with the mean */
	RUNG_ONE_PHASE,
	RUNG_ONE_PHASE_PADDED, /* the same, means and sums on different lines */
	/* 3p: each thread assigns and groups its own points; then the groups are added up */
	RUNG_THREE_PHASES,
	/* each thread has its own sums, interleaved with the others' */
	RUNG_PRIVATE_DENSE,
	RUNG_PRIVATE_PADDED, /* the same, threads' sums on different lines */
	RUNGS
};

struct ladder;

/*
 * Maps regions in the arena and notes their homes; does not touch them. NULL with errno. The
 * problem is copied; its ranks must be NULL.
 */
struct ladder *ladder_open(const struct problem *, enum rung, struct arena *);
void ladder_enter(struct ladder *, struct worker *); /* each worker: first touch of its memory */
void ladder_work(struct ladder *, struct worker *);  /* all workers; begins anew each time */
/* valid until ladder_close() or the next ladder_work() */
const struct solution *ladder_solution(const struct ladder *);
void ladder_close(struct ladder *); /* NULL is fine; its regions are the arena's */

/* Bytes that ladder_open() maps. */
size_t ladder_bytes(enum rung, const struct problem *);

/* ---- the memory layout of a cluster: mean, sums, count, lock ---- */

/*
 * Offsets in a cluster of d dimensions, in bytes; the mean is at 0. Packed into whole lines, or
 * mean and sums PADDED apart: two lines, which no adjacent-line prefetcher joins. A longer stride
 * would put the clusters into few sets of the first-level cache: at 512 bytes, 64 means fill all
 * the sets that they can be in, if the cache has 8 ways and 64 sets. `real`: bytes of a value of
 * the mean; sums are double.
 */
#define LINE		    64
#define PADDED		    ((size_t)2 * LINE)
#define ROUND_UP(bytes, to) (((bytes) + (to)-1) / (to) * (to))
#define SUM_AT(d, real, apart) \
	ROUND_UP((size_t)(d) * (real), (apart) ? (size_t)PADDED : sizeof(double))
#define COUNT_AT(d, real, apart) (SUM_AT(d, real, apart) + (size_t)(d) * sizeof(double))
#define LOCK_AT(d, real, apart)	 (COUNT_AT(d, real, apart) + sizeof(uint64_t))
#define STRIDE(d, real, apart)                                       \
	ROUND_UP(LOCK_AT(d, real, apart) + sizeof(struct spin_lock), \
		 (apart) ? (size_t)PADDED : (size_t)LINE)

/* These layouts as structs, for the two dimensions of Sestoft's program. */
struct cluster {
	_Alignas(LINE) double mean[2];
	double sum[2];
	uint64_t count;
	struct spin_lock lock;
};
struct padded_cluster {
	_Alignas(PADDED) double mean[2];
	_Alignas(PADDED) double sum[2];
	uint64_t count;
	struct spin_lock lock;
};
#define CHECK_OFFSETS(TYPE, APART)                                                            \
	_Static_assert(sizeof(TYPE) == STRIDE(2, sizeof(double), APART) &&                    \
			       offsetof(TYPE, sum) == SUM_AT(2, sizeof(double), APART) &&     \
			       offsetof(TYPE, count) == COUNT_AT(2, sizeof(double), APART) && \
			       offsetof(TYPE, lock) == LOCK_AT(2, sizeof(double), APART),     \
		       "the struct has the offsets of the macros")
CHECK_OFFSETS(struct cluster, false);
CHECK_OFFSETS(struct padded_cluster, true);
_Static_assert(sizeof(struct cluster) == LINE, "2q: mean, sums, count and lock are one line");
_Static_assert(sizeof(struct spin_lock) == 4, "2q: the lock has 4 bytes");
_Static_assert(offsetof(struct padded_cluster, sum) - offsetof(struct padded_cluster, mean) ==
			       PADDED &&
		       sizeof(struct padded_cluster) - offsetof(struct padded_cluster, sum) ==
			       PADDED,
	       "2q-padded: adding to the sums does not touch the means' lines");

/* A thread's own sums and count of one cluster. */
#define ENTRY(d) (((size_t)(d) + 1) * sizeof(double))
_Static_assert(2 * ENTRY(2) <= LINE, "private-dense: threads share lines");

#endif
