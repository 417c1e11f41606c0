/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lloyd's k-means (Lloyd 1982) by the fastest way that fits the problem. An iteration assigns each
 * point to the nearest centre (the first of equally near ones) and moves each centre to the mean of
 * its points; one without points stays.
 *
 * Shapes: n points and k centres of d values, row by row; doubles or floats.
 * Units:  the caller's; a distance is a sum of squared differences.
 * Errors: a label has the least distance as doubles compute it, whatever else the points are. A
 *         mean is exact to 2^-51 (2000 points), 2^-44 (200,000) or 2^-41 (2 million) of half the
 *         width of all points, and then rounded to their type. Labels, means and counts are bit for
 *         bit the same with any pruning, any number of threads and any number of ranks.
 * Cost:   without pruning n k d multiply-adds an iteration; memory: lloyd_bytes().
 */
#ifndef LOCUS_SOLVE_KMEANS_H
#define LOCUS_SOLVE_KMEANS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kit/real.h"

struct lloyd;
struct ranks;
struct team;
struct worker;

/* n rows of d values. Each rank, and in it each worker, has a share of the rows (kit/shares.h). */
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

/* With rounding, assignments can form a cycle: clustering always ends after so many iterations. */
enum { KMEANS_MOST_ITERATIONS = 10000 };

struct problem {
	struct points points; /* of this rank */
	size_t all;	      /* points of all ranks */
	unsigned k;
	/* k rows of d, of the points' type: the same in all ranks */
	const void *start;
	uint64_t iterations; /* 0: until an iteration changes no label */
	size_t room;	     /* bytes that the solver may map; 0: no limit */
	size_t huge;	     /* bytes of a transparent huge page; 0: the machine has none */
	unsigned threads;
	struct team *team;	   /* whose workers call the solver */
	const struct ranks *ranks; /* NULL: this process alone */
};

/* Bytes of `start`. */
static inline size_t problem_start_bytes(const struct problem *p)
{
	return (size_t)p->k * p->points.d * real_bytes(p->points.real);
}

/* Whether iteration `done` (from 1) was the last; `changed`: it changed labels. */
static inline bool problem_is_solved(const struct problem *p, uint64_t done, bool changed)
{
	return p->iterations ? done == p->iterations : !changed || done == KMEANS_MOST_ITERATIONS;
}

struct solution {
	uint32_t *label; /* of each point: the assignment of the last iteration */
	/* k rows of d: the centres before that assignment; the means after it */
	double *from, *centre;
	uint64_t *count;     /* points of each cluster, on all ranks */
	uint64_t iterations; /* done */
	uint64_t distances;  /* computed by this rank, of iterations * points.n * k */
};

/* How distances are avoided. */
enum prune { PRUNE_AUTO, PRUNE_NONE, PRUNE_CELLS, PRUNE_BALLS, PRUNE_BOXES };
#define PRUNE_CHOICES "auto,none,cells,balls,boxes" /* in the order of enum prune */

/* Memory comes from the caller, in a few blocks. */
struct lloyd_memory {
	void *context;
	/* Maps an untouched block, aligned to a page; `huge`: on huge pages. NULL with errno. */
	void *(*map)(void *context, const char *name, size_t bytes, bool huge);
	/* A worker first touches part of the last block; `alone`: no other worker uses it. */
	void (*claim)(void *context, void *part, size_t bytes, unsigned worker, bool alone);
};

/*
 * Maps blocks, without touching them. NULL with errno: ENOMEM, or map()'s; EINVAL for pruning that
 * does not fit the problem (cells with more than 3 dimensions). The problem is copied; its data
 * stay the caller's, and must live until lloyd_close(). Points are not read before lloyd_work().
 */
struct lloyd *lloyd_open(const struct problem *, enum prune, const struct lloyd_memory *);
void lloyd_enter(struct lloyd *, struct worker *); /* each worker: first touch of its memory */
/*
 * Called by all workers of all ranks: does the whole clustering, from the points as given (building
 * indices included) to labels and centres. Starts afresh each time.
 */
void lloyd_work(struct lloyd *, struct worker *);
/* valid until lloyd_close() or the next lloyd_work() */
const struct solution *lloyd_solution(const struct lloyd *);
void lloyd_close(struct lloyd *); /* NULL is fine; its blocks are the caller's */

/* Bytes that lloyd_open() maps; 0: the pruning does not fit. points.x is not used. */
size_t lloyd_bytes(const struct problem *, enum prune);

/*
 * Finds, for each dimension, the largest width of the points' box for which no point counts as far
 * out: many times the distance from the median within which a quarter of the start centres lie. If
 * that distance is 0, the largest width of other dimensions is used. The same on all ranks.
 */
void kmeans_spread(const struct problem *, double *width);

/*
 * Multiply-adds per second of the calling thread's core, in its widest vectors; a lane counts as
 * one. Measured on each call, in about a millisecond.
 */
double kmeans_peak_rate(enum real);

#endif
