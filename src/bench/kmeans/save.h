/* SPDX-License-Identifier: Apache-2.0 */
/* Writes labels and centres to files. */
#ifndef LOCUS_KMEANS_SAVE_H
#define LOCUS_KMEANS_SAVE_H

#include "bench/kmeans/problem.h"
#include "trial.h"

/*
 * Writes the files that --save-labels and --save-centres ask for. Called by worker 0 of all ranks.
 * NULL, or what went wrong on this rank, valid until the next call.
 */
const char *kmeans_save(const struct trial *, const struct problem *, const struct solution *);

#endif
