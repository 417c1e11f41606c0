/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The ladder: versions (rungs) of the same k-means that differ in what threads share. The first
 * rungs are those of P. Sestoft, "A multicore performance mystery solved" (2017), sections 1 to 3:
 * points are assigned to centres, and added to their cluster's sums under its lock.
 */
#ifndef LOCUS_KMEANS_LADDER_H
#define LOCUS_KMEANS_LADDER_H

#include "bench/kmeans/problem.h"
#include "bench/kmeans/rung.h"
#include "machine/memory/region.h"
#include "machine/threads/team.h"

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

#endif
