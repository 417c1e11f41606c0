/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the files that map memory, place it and read its places back. */
#ifndef LOCUS_MAPPED_H
#define LOCUS_MAPPED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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
	bool thp;	/* transparent huge pages were requested */
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

/* The claim (`of`: home or user) for the page at an offset: a node, or ANY_NODE. */
static inline int region_claim(const struct region *r, const int16_t *of, size_t offset)
{
	return of[offset / r->granule] - 1;
}

static inline bool region_holds(const struct region *r, uintptr_t address)
{
	return address - (uintptr_t)r->base < r->bytes;
}

/* The nodes of a region's pages, by move_pages(2), some at a time. */

/* A reserved huge page, which lies on one node as a whole, or else a system page; in bytes. */
size_t region_step(const struct region *);
/*
 * Bytes of the region to check: the requested ones, since the rest of the last granule may never be
 * touched.
 */
size_t region_extent(const struct region *);

#define MOST_PAGES ((size_t)64 << 10) /* the number of pages in one call */

struct page_list {
	size_t n;
	void *address[MOST_PAGES];
	int node[MOST_PAGES];	/* where the user's first touch places it; negative: no user */
	int status[MOST_PAGES]; /* page_list_ask(): its node; negative: not present */
};

/*
 * Lists the next pages of a region (`used`: only those with a user), and advances *offset past
 * them. False at the end.
 */
bool page_list_next(const struct region *, bool used, size_t *offset, struct page_list *);
int page_list_ask(struct page_list *); /* -1 with errno */

/* Whether a region can have its pages, and why not. */

/*
 * 0 if the control groups' limits leave room for the huge pages that this region and those mapped
 * before it have yet to touch; else -1 with errno ENOMEM and arena_refusal().
 */
int huge_within_limit(struct region *);

/* 0 if the node has enough free huge pages for the regions bound to it; else -1 as above. */
int huge_on_node(struct region *, int node);

/* Sets arena_refusal() to why mmap() failed with this errno, which is kept. */
void huge_refused(struct region *);

/* -1 with errno and arena_refusal() if the region can't have its multi-size pages. */
int multisize_allowed(const struct region *);

#endif
