/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Of a chunk, from point `first` on: the points whose bounds do not hold their labels, from which
 * all groups are left out that cannot have the nearest centre. The calls come in this order.
 */
#ifndef LOCUS_KMEANS_SUSPECTS_H
#define LOCUS_KMEANS_SUSPECTS_H

#include "bench/kmeans/bounds_state.h"

/*
 * How many of the chunk's n points may have another label than before. All bounds follow the
 * centres.
 */
unsigned suspects_find(struct bounds *, const struct stage *, size_t first, unsigned n,
		       const struct moves *);

/*
 * Measures the distance of each suspect to its centre, and keeps those that have to look further,
 * listed by group. Returns how often they look.
 */
size_t suspects_narrow(struct bounds *, struct share *, const struct stage *, size_t first,
		       unsigned *suspects);

/* Finds each suspect's nearest centre of those groups that it looks at. */
void suspects_look(struct bounds *, struct share *, const struct stage *, size_t first);

/* Those that have a new label move; all have new bounds. */
void suspects_settle(struct bounds *, struct share *, const struct stage *, size_t first,
		     unsigned suspects);

#endif
