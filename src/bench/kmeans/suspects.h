/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The suspects of a chunk that begins at point `first`: points whose bounds do not exclude a new
 * label. The functions are called in this order.
 */
#ifndef LOCUS_KMEANS_SUSPECTS_H
#define LOCUS_KMEANS_SUSPECTS_H

#include "bench/kmeans/bounds_state.h"

/*
 * Updates the bounds by the centres' moves, and lists the suspects among the chunk's n points.
 * Returns how many.
 */
unsigned suspects_find(struct bounds *, const struct stage *, size_t first, unsigned n,
		       const struct moves *);

/*
 * Computes each suspect's distance to its centre; keeps those that are suspects still, and lists
 * them under each group that may have a nearer centre. Returns the number of those entries.
 */
size_t suspects_narrow(struct bounds *, struct share *, const struct stage *, size_t first,
		       unsigned *suspects);

/* Finds each suspect's nearest centre within the groups that list it. */
void suspects_look(struct bounds *, struct share *, const struct stage *, size_t first);

/* Moves suspects that have a new label; gives all of them new bounds. */
void suspects_finish(struct bounds *, struct share *, const struct stage *, size_t first,
		     unsigned suspects);

#endif
