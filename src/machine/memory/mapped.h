/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The fields of arenas and regions, for the files of machine/memory that map, place and read back.
 */
#ifndef LOCUS_MAPPED_H
#define LOCUS_MAPPED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "machine/memory/pages.h"

struct arena {
	const struct machine *machine;
	struct region *regions; /* the last one first */
	char *refusal;
	/*
	 * by node, at arena_open(); 0 bytes: unknown; NULL: at most one node has memory, or this is
	 * not the running machine
	 */
	struct node_memory *before;
};

struct region {
	struct region *next;
	struct arena *arena;
	char *name;
	enum pages pages;
	bool hugetlb;	/* on reserved huge pages */
	bool multisize; /* see multisize_touch() */
	void *reserved; /* the mapping, guard pages included */
	size_t reserved_bytes;
	char *base;
	size_t asked, bytes, granule; /* bytes: asked, in whole granules */
	int bound;		      /* node, or ANY_NODE */
	bool even;
	int16_t *home, *user; /* by granule: node + 1; 0: any */
};

void region_free(struct region *); /* and unmaps it */

#define MOST_NODES 1024 /* Linux has no more on any architecture */

/* What `of` - home or user - claims for the page at an offset: a node, or ANY_NODE. */
static inline int region_claim(const struct region *r, const int16_t *of, size_t offset)
{
	return of[offset / r->granule] - 1;
}

static inline bool region_holds(const struct region *r, uintptr_t address)
{
	return address - (uintptr_t)r->base < r->bytes;
}

#endif
