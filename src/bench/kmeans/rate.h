/* SPDX-License-Identifier: Apache-2.0 */
/* What a core can compute. */
#ifndef LOCUS_KMEANS_RATE_H
#define LOCUS_KMEANS_RATE_H

#include "kit/real.h"

/*
 * 1/s: multiply-adds (of one value of a vector) that the calling thread's core does, measured now
 * in about a millisecond.
 */
double fma_rate(enum real);

#endif
