/* SPDX-License-Identifier: Apache-2.0 */
/* Labels and centres go into files. */
#ifndef LOCUS_KMEANS_SAVE_H
#define LOCUS_KMEANS_SAVE_H

#include "bench/kmeans/problem.h"
#include "trial.h"

/*
 * Writes what the trial is to save. All ranks, worker 0 of each. NULL, or what went wrong on this
 * one; valid until the next call.
 */
const char *save(const struct trial *, const struct problem *, const struct solution *);

#endif
