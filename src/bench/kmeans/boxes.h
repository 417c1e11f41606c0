/* SPDX-License-Identifier: Apache-2.0 */
/* Pruning by boxes of points. */
#ifndef LOCUS_KMEANS_BOXES_H
#define LOCUS_KMEANS_BOXES_H

#include "bench/kmeans/method.h"

extern const struct method method_boxes;

#endif
