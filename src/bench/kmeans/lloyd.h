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

struct lloyd;
struct worker;

/*
 * Memory only, mapped and not touched. NULL with errno: ENOMEM; EINVAL for a kind of pruning that
 * does not fit the problem (cells, of more dimensions than pay). The problem is copied; what it
 * points to stays the caller's, and has to be there until lloyd_close(). The points themselves may
 * come later: nothing reads them before lloyd_work().
 */
struct lloyd *lloyd_open(const struct problem *, enum prune);
void lloyd_enter(struct lloyd *, struct worker *); /* each worker: touches what will be its own */
/*
 * All workers: from the points as they are given to labels and centres, indices and all. May be
 * called again, and then begins anew. Whether it ends is for all ranks together: they do the same
 * iterations.
 */
void lloyd_work(struct lloyd *, struct worker *);
/* valid until lloyd_close() or the next lloyd_work() */
const struct solution *lloyd_solution(const struct lloyd *);
const char *lloyd_method(const struct lloyd *); /* its name: "brute", "bounds", "cells" */
void lloyd_close(struct lloyd *);		/* NULL is fine */

/* What lloyd_open() maps, in bytes; 0: it does not fit. Where points lie need not be known. */
size_t lloyd_bytes(const struct problem *, enum prune);

#endif
