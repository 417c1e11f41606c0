/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The nodes of a region's pages, by move_pages(2), some at a time. A step is a reserved huge page,
 * which lies on one node as a whole, or else a system page.
 */
#ifndef LOCUS_PAGELIST_H
#define LOCUS_PAGELIST_H

#include <stdbool.h>
#include <stddef.h>

struct region;

size_t region_step(const struct region *); /* bytes */
/*
 * Bytes of the region to check: those asked for, since the rest of the last granule may never be
 * touched.
 */
size_t region_extent(const struct region *);

#define MOST_PAGES ((size_t)64 << 10) /* asked about in one call */

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

#endif
