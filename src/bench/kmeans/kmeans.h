/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the parts of `locus kmeans` have in common: the points, the problem, and what a solver
 * leaves behind.
 */
#ifndef LOCUS_KMEANS_H
#define LOCUS_KMEANS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "benchmark.h"
#include "kit/shares.h"

enum real { DOUBLE, FLOAT };
/* the choices of a parameter, in the order of enum real */
#define REAL_CHOICES "double,float"

static inline size_t real_bytes(enum real r)
{
	return r == FLOAT ? sizeof(float) : sizeof(double);
}

/* The i-th of values of this type. */
static inline double real_get(enum real r, const void *values, size_t i)
{
	return r == FLOAT ? (double)((const float *)values)[i] : ((const double *)values)[i];
}

static inline void real_set(enum real r, void *values, size_t i, double value)
{
	if (r == FLOAT)
		((float *)values)[i] = (float)value;
	else
		((double *)values)[i] = value;
}

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
