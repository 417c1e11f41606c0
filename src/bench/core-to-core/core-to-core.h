/* SPDX-License-Identifier: Apache-2.0 */
/* The state of a core-to-core trial: separate lines for all pairs of a round, at each meeting. */
#ifndef LOCUS_CORE_TO_CORE_H
#define LOCUS_CORE_TO_CORE_H

#include "bench/core-to-core/exchange.h"

struct histogram;

struct core_to_core {
	exchange *exchange;
	struct lines *lines;	   /* meetings * tables */
	unsigned meetings, tables; /* meetings of a pair; pairs that meet concurrently */
	unsigned round;		   /* rounds so far, of all batches */
	struct team *team;	   /* NULL: tests, that play by hand */
	/* of one-way, else NULL */
	struct stamps (*stamps)[2]; /* by pair and side */
	struct histogram *times;    /* ticks */
	double tick;		    /* s */
};

/*
 * The pairs of a round have lines of their own, and move on to others in each round: else each pair
 * would have the same few in all batches, and the slices of the last cache that are their homes
 * would be taken for the distance of its cores.
 */

static inline struct lines *core_to_core_lines(const struct core_to_core *c, unsigned meeting,
					       unsigned pair)
{
	return &c->lines[(size_t)meeting * c->tables + (pair + c->round) % c->tables];
}

#endif
