/* SPDX-License-Identifier: Apache-2.0 */
/* Peak rate of a core's multiply-adds. */
#ifndef LOCUS_KMEANS_RATE_H
#define LOCUS_KMEANS_RATE_H

#include "kit/real.h"

/*
 * Multiply-adds per second of the calling thread's core, in its widest vectors; a lane counts as
 * one. Measured now, in about a millisecond.
 */
double rate_fma(enum real);

#endif
