/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What was asked for, complete: the number of points and, where they or the centres come from
 * files, what those say of dimensions and clusters.
 */
#ifndef LOCUS_KMEANS_SETTLE_H
#define LOCUS_KMEANS_SETTLE_H

#include "trial.h"

/* See struct benchmark. */
const char *settle(const struct trial *, union value *, uint64_t given);

#endif
