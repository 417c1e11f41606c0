/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where the pages of a trial lay, before and after its samples: of its allocations, the one with
 * most pages misplaced.
 */
#ifndef LOCUS_PLACEMENTS_H
#define LOCUS_PLACEMENTS_H

#include "machine/memory/placement.h"

struct ranks;

struct placements {
	struct placement now; /* of the allocation at hand, before its samples; pages 0: none */
	struct placement before, after;
	bool known; /* before and after are */
};

/*
 * Read the pages of an allocation back, before its samples and after. Main is away meanwhile, and
 * the watchdog may read `before` and `after`: they are changed by placements_keep() alone.
 */
void placements_begin(struct placements *, const struct arena *);
/* False: there is nothing to compare. */
bool placements_end(const struct placements *, const struct arena *, struct placement *after);
/* Takes over what was read; `after` is NULL where there is nothing. */
void placements_keep(struct placements *, struct placement *after);

/* They become those of all ranks, node by node: node 1 is that of each machine. */
void placements_sum(const struct ranks *, struct placements *);
void placements_free(struct placements *);

#endif
