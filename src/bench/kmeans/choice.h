/* SPDX-License-Identifier: Apache-2.0 */
/* Chooses the fastest method that fits the problem and the memory. */
#ifndef LOCUS_KMEANS_CHOICE_H
#define LOCUS_KMEANS_CHOICE_H

#include "bench/kmeans/method.h"

enum prune {
	PRUNE_AUTO,
	PRUNE_NONE,
	PRUNE_BOUNDS,
	PRUNE_CELLS,
	PRUNE_FILTER,
	PRUNE_BALLS,
	PRUNE_BOXES,
};
/* the choices of a parameter, in the order of enum prune */
#define PRUNE_CHOICES "auto,none,bounds,cells,filter,balls,boxes"

/* No method: the kind of pruning does not fit the problem. The same on all ranks. */
struct choice choice_make(const struct problem *, enum prune);

#endif
