/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What every solver is given and what it leaves behind: the points, the problem, and the solution.
 */
#ifndef LOCUS_KMEANS_PROBLEM_H
#define LOCUS_KMEANS_PROBLEM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kit/real.h"

struct ranks;
struct team;

/*
 * n rows of d values, one after the other; each worker, and each rank, has a part of them
 * (kit/shares.h).
 */
struct points {
	enum real real;
	size_t n;
	unsigned d;
	void *x;
};

static inline size_t points_bytes(const struct points *p)
{
	return p->n * p->d * real_bytes(p->real);
}

/*
 * Lloyd's k-means. An iteration assigns each point to the nearest centre (of equally near ones to
 * the first) and makes each centre the mean of its points; one without points stays where it is. It
 * ends after `iterations` of them, or, where that is 0, after the first in which no assignment
 * changed - or after MOST_ITERATIONS, for rounding can lead assignments round in a circle.
 */
enum { MOST_ITERATIONS = 10000 };

struct problem {
	struct points points; /* of this rank */
	size_t all;	      /* points of all ranks */
	unsigned k;
	/* k rows of d, of the points' type: the same in all ranks */
	const void *start;
	uint64_t iterations;
	size_t room; /* bytes that its solver may map; 0: no limit */
	unsigned threads;
	/* its workers come in one after the other at team_barrier() */
	struct team *team;
	const struct ranks *ranks; /* NULL: this process alone */
};

/* Of k rows, as at `start`. */
static inline size_t centres_bytes(const struct problem *p)
{
	return (size_t)p->k * p->points.d * real_bytes(p->points.real);
}

/* Whether the iteration is the last one, with which so many are done. */
static inline bool is_last(const struct problem *p, uint64_t done, bool changed)
{
	return p->iterations ? done == p->iterations : !changed || done == MOST_ITERATIONS;
}

/* What is left behind. */
struct solution {
	uint32_t *label; /* of each point: the assignment of the last iteration */
	/* k rows of d: the centres that this assignment was made by; the means after it */
	double *from, *centre;
	uint64_t *count;     /* points of each cluster, of all ranks */
	uint64_t iterations; /* done */
	uint64_t distances;  /* computed by this rank, of iterations * points.n * k */
};

#endif
