/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The input and output of every solver: points, problem, solution.
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
 * n rows of d values, row-major. Each rank, and within it each worker, has a share of the rows
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
 * Lloyd's k-means. An iteration assigns each point to the nearest centre (the first of equally near
 * ones) and moves each centre to the mean of its points; one without points stays. Ends after
 * `iterations` of them or, if that is 0, after the first in which no assignment changed - at most
 * MOST_ITERATIONS, since with rounding assignments can cycle.
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
	size_t huge; /* bytes of a transparent huge page; 0: the machine has none */
	unsigned threads;
	struct team *team;	   /* whose workers call the solver */
	const struct ranks *ranks; /* NULL: this process alone */
};

/* Bytes of `start`. */
static inline size_t centres_bytes(const struct problem *p)
{
	return (size_t)p->k * p->points.d * real_bytes(p->points.real);
}

/* Whether iteration `done` (from 1) was the last; `changed`: it changed labels. */
static inline bool is_last(const struct problem *p, uint64_t done, bool changed)
{
	return p->iterations ? done == p->iterations : !changed || done == MOST_ITERATIONS;
}

struct solution {
	uint32_t *label; /* of each point: the assignment of the last iteration */
	/* k rows of d: the centres before that assignment; the means after it */
	double *from, *centre;
	uint64_t *count;     /* points of each cluster, of all ranks */
	uint64_t iterations; /* done */
	uint64_t distances;  /* computed by this rank, of iterations * points.n * k */
};

#endif
