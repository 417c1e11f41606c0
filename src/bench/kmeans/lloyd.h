/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The variant `best`: Lloyd's k-means (Lloyd 1982) by the fastest method that fits the problem.
 * Labels, centres and counts are bit for bit the same with any method, any number of threads and
 * any number of ranks: method.h says why. How to add a method is written there, too.
 */
#ifndef LOCUS_LLOYD_H
#define LOCUS_LLOYD_H

#include "bench/kmeans/choice.h"
#include "bench/kmeans/problem.h"

struct arena;
struct lloyd;
struct worker;

/*
 * Maps regions in the arena and notes their homes; does not touch them. NULL with errno: ENOMEM;
 * EINVAL for a kind of pruning that does not fit the problem (cells with more than 3 dimensions).
 * The problem is copied; what it points to stays the caller's, and must live until lloyd_close().
 * Points are not read before lloyd_work().
 */
struct lloyd *lloyd_open(const struct problem *, enum prune, struct arena *);
void lloyd_enter(struct lloyd *, struct worker *); /* each worker: first touch of its memory */
/*
 * Called by all workers of all ranks: does the whole clustering, from the points as given (building
 * indices included) to labels and centres. Begins anew each time.
 */
void lloyd_work(struct lloyd *, struct worker *);
/* valid until lloyd_close() or the next lloyd_work() */
const struct solution *lloyd_solution(const struct lloyd *);
const char *lloyd_method(const struct lloyd *); /* the name of the one it begins with */
void lloyd_close(struct lloyd *);		/* NULL is fine; its regions are the arena's */

/* Bytes that lloyd_open() maps; 0: the method does not fit. points.x is not used. */
size_t lloyd_bytes(const struct problem *, enum prune);

#endif
