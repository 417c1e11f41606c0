/* SPDX-License-Identifier: Apache-2.0 */
/* Pruning by cells of a grid, for few dimensions. */
#ifndef LOCUS_KMEANS_CELLS_H
#define LOCUS_KMEANS_CELLS_H

#include "bench/kmeans/method.h"

extern const struct method method_cells;

#endif
