/* SPDX-License-Identifier: Apache-2.0 */
/* The points of a trial, generated or from a file, and the centres that it starts from. */
#ifndef LOCUS_KMEANS_DATA_H
#define LOCUS_KMEANS_DATA_H

#include "bench/kmeans/problem.h"
#include "trial.h"

/*
 * Maps this rank's points; each worker makes or reads its share, and so touches it first. Sets the
 * problem's points and start, and returns the start, to be freed. NULL with errno, or after
 * arena_cannot().
 */
void *data_bring(const struct trial *, struct problem *);

#endif
