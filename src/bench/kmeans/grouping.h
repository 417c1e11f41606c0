/* SPDX-License-Identifier: Apache-2.0 */
/* Groups of centres that are near each other. */
#ifndef LOCUS_KMEANS_GROUPING_H
#define LOCUS_KMEANS_GROUPING_H

#include <stdint.h>

#include "kit/real.h"

/* A centre, and how far along a line it is. */
struct along {
	double at;
	uint32_t centre;
};

/*
 * Orders k centres, rows of d, so that each `size` of them are near each other; within such a group
 * their numbers ascend. The last group may have fewer. Scratch: k.
 */
void grouping_order(const void *centre, unsigned d, unsigned k, enum real, unsigned size,
		    uint32_t *order, struct along *scratch);

#endif
