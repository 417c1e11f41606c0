/* SPDX-License-Identifier: Apache-2.0 */
/* Pruning by balls of points. */
#ifndef LOCUS_KMEANS_BALLS_H
#define LOCUS_KMEANS_BALLS_H

#include "bench/kmeans/method.h"

extern const struct method method_balls;

#endif
