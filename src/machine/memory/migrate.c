/* SPDX-License-Identifier: Apache-2.0 */
#include "machine/memory/migrate.h"

#include <errno.h>
#include <numaif.h>
#include <stdlib.h>

#include "machine/memory/mapped.h"
#include "machine/memory/pagelist.h"
#include "machine/topology/topology.h"

/* Keeps only the pages that are present, but not on their user's node. */
static int keep_remote(struct page_list *c)
{
	size_t kept = 0;

	if (c->n && page_list_ask(c))
		return -1;
	for (size_t i = 0; i < c->n; i++)
		if (c->status[i] >= 0 && c->status[i] != c->node[i]) {
			c->address[kept] = c->address[i];
			c->node[kept++] = c->node[i];
		}
	c->n = kept;
	return 0;
}

/*
 * Tries twice, since a page that is busy at one moment (under writeback, or pinned) may move at the
 * next.
 */
static int move(struct page_list *c)
{
	if (keep_remote(c))
		return -1;
	for (int try = 0; try < 2 && c->n; try++) {
		/* old kernels report ENOENT when no page was left to move */
		if (move_pages(0, c->n, c->address, c->node, c->status, MPOL_MF_MOVE) < 0 &&
		    errno != ENOENT)
			return -1;
		if (keep_remote(c))
			return -1;
	}
	return 0;
}

long region_migrate(struct region *r)
{
	const struct machine *m = r->arena->machine;
	struct page_list *c = malloc(sizeof(*c));
	long stuck = 0;
	int status = c ? 0 : -1, error;

	for (size_t offset = 0; !status && page_list_next(r, true, &offset, c);) {
		status = move(c);
		stuck += (long)(c->n * region_step(r) / m->page);
	}
	error = errno;
	free(c);
	errno = error;
	if (!status)
		return stuck;
	/* with one node all pages are local */
	return m->nodes == 1 && (error == EPERM || error == ENOSYS) ? 0 : -1;
}
