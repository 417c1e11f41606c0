/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where the pages of a region are, by move_pages(2), some at a time. In steps: a reserved huge page
 * at once, since all of it is on one node; anything else by the system's page.
 */
#ifndef LOCUS_PAGELIST_H
#define LOCUS_PAGELIST_H

#include <stdbool.h>
#include <stddef.h>

struct region;

size_t region_step(const struct region *); /* bytes */
/* Bytes to read: what was asked for. What rounding up added may never be touched. */
size_t region_extent(const struct region *);

#define MOST_PAGES ((size_t)64 << 10) /* asked about in one call */

struct page_list {
	size_t n;
	void *address[MOST_PAGES];
	int node[MOST_PAGES];	/* where pages lie that the user touches first; negative: no user */
	int status[MOST_PAGES]; /* page_list_ask(): the node, or negative: not there */
};

/*
 * Takes the next pages of a region, or only those that have a user. *offset is moved past them;
 * false at the end.
 */
bool page_list_next(const struct region *, bool used, size_t *offset, struct page_list *);
int page_list_ask(struct page_list *); /* -1 with errno */

#endif
