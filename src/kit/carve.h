/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Divides one block of memory into parts that are APART from each other. Run first with NULL for
 * the memory, the same code computes the size:
 *
 *	struct carver c = { .memory = NULL };
 *	lay_out(state, &c);		calls carve() for each part
 *	c.used				bytes to map, aligned to APART
 */
#ifndef LOCUS_CARVE_H
#define LOCUS_CARVE_H

#include <stddef.h>

#include "base/arithmetic.h"
#include "base/apart.h"

struct carver {
	char *memory; /* aligned to APART; NULL: only counts */
	size_t used;
};

static inline void *carve(struct carver *c, size_t bytes)
{
	char *part = c->memory ? c->memory + c->used : NULL;

	c->used += round_up(bytes, APART);
	return part;
}

#endif
