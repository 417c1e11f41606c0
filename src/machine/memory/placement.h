/* SPDX-License-Identifier: Apache-2.0 */
/* Where the pages of an arena lie, as the kernel says, held against what was claimed of them. */
#ifndef LOCUS_PLACEMENT_H
#define LOCUS_PLACEMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct arena;

struct placement {
	/* page by page; by count (numa_maps); not at all, and why_not says why */
	enum { PLACEMENT_VERIFIED, PLACEMENT_COUNTED, PLACEMENT_UNVERIFIED } how;
	/* NULL when PLACEMENT_VERIFIED; else why nothing better; owned by the placement */
	char *why_not;
	size_t page;		  /* bytes of the counts below: the system's page */
	unsigned nodes;		  /* length of on_node: the highest node number + 1 */
	uint64_t *on_node;	  /* pages on each node; owned by the placement */
	uint64_t pages, unmapped; /* in all; without memory behind them */
	/*
	 * Pages not where they were claimed to be, or not there at all. PLACEMENT_COUNTED: the
	 * pages that a node lacks of those claimed for it, so at least as many are wrong.
	 * region_even(): what a node has beyond its share (pages / nodes, rounded up) and one
	 * granule.
	 */
	uint64_t misplaced;
	/*
	 * pages on the node of the worker that uses them, of `used` that have one;
	 * PLACEMENT_VERIFIED only
	 */
	uint64_t local, used;
	uint64_t huge;	   /* bytes on pages larger than the system's (smaps) */
	uint64_t thp;	   /* bytes for which transparent huge pages were asked */
	size_t huge_page;  /* bytes of such a page; 0 where there are none */
	bool huge_unknown; /* /proc/self/smaps can't be read: the two above are 0 */
};

/*
 * All regions together. -1 with errno ENOMEM; a kernel that forbids it is no error, but
 * PLACEMENT_UNVERIFIED.
 */
int arena_placement(const struct arena *, struct placement *);
void placement_free(struct placement *);

#endif
