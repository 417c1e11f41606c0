/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where the pages of a trial lay, before and after its samples, in the allocation with the most
 * pages misplaced.
 */
#ifndef LOCUS_PLACEMENTS_H
#define LOCUS_PLACEMENTS_H

#include "machine/memory/placement.h"

struct ranks;

struct placements {
	struct placement now; /* of the current allocation, before its samples; pages 0: none */
	struct placement before, after;
	bool known; /* before and after are */
};

/*
 * Read the pages of an allocation back, before its samples and after. The main thread is away from
 * the books then, and the watchdog may read `before` and `after`: only placements_keep() changes
 * them.
 */
void placements_begin(struct placements *, const struct arena *);
/* False: there is nothing to compare. */
bool placements_end(const struct placements *, const struct arena *, struct placement *after);
/* Takes over what was read; `after` is NULL if there is nothing to compare. */
void placements_keep(struct placements *, struct placement *after);

/*
 * Whether more than this share of the pages is misplaced: under memory pressure the kernel may
 * place a page or two elsewhere.
 */
#define PLACEMENTS_MOST_ASTRAY 0.001
bool placement_is_astray(const struct placement *);
bool placements_astray(const struct placements *); /* before the samples, or after */

/* Sums over all ranks, node by node: node 1 of each host counts as node 1. */
void placements_sum(const struct ranks *, struct placements *);
void placements_free(struct placements *);

#endif
