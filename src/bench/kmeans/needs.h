/* SPDX-License-Identifier: Apache-2.0 */
/* What a trial takes, and the problem that it poses. */
#ifndef LOCUS_KMEANS_NEEDS_H
#define LOCUS_KMEANS_NEEDS_H

#include "bench/kmeans/problem.h"
#include "benchmark.h"

/* See struct benchmark. */
struct needs needs(const struct trial *);

/* Its points and centres are not there yet. Its room is the same on all ranks. */
struct problem problem_of(const struct trial *);

#endif
