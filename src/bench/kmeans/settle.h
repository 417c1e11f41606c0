/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Completes the parameters: the number of points and, from files of points or centres, dimensions
 * and clusters.
 */
#ifndef LOCUS_KMEANS_SETTLE_H
#define LOCUS_KMEANS_SETTLE_H

#include "trial.h"

/*
 * Whether a parameter names a file to read, after kmeans_settle(). See `input` of struct parameter.
 */
bool kmeans_reads_points(const union value *);
bool kmeans_reads_centres(const union value *);

/* See struct benchmark. */
const char *kmeans_settle(const struct trial *, union value *, uint64_t given);

#endif
