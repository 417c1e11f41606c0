/* SPDX-License-Identifier: Apache-2.0 */
/* A trial's memory, and the problem that its parameters describe. */
#ifndef LOCUS_KMEANS_NEEDS_H
#define LOCUS_KMEANS_NEEDS_H

#include "bench/kmeans/problem.h"
#include "benchmark.h"

/* See struct benchmark. */
struct needs kmeans_needs(const struct trial *);

/* Without points and centres: data_bring() adds them. Its room is the same on all ranks. */
struct problem problem_of(const struct trial *);

#endif
