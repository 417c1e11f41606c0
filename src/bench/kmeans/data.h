/* SPDX-License-Identifier: Apache-2.0 */
/* The points of a trial, generated or from a file, and the centres that it starts from. */
#ifndef LOCUS_KMEANS_DATA_H
#define LOCUS_KMEANS_DATA_H

#include "bench/kmeans/problem.h"
#include "trial.h"

/*
 * Maps this rank's points; each worker makes or reads its own, and so touches them first. Returns
 * the start centres, to be freed; they and the points are noted in the problem. NULL with errno, or
 * after cannot() was told why.
 */
void *data_bring(const struct trial *, struct problem *);

#endif
