/* SPDX-License-Identifier: Apache-2.0 */
/* Places the pages of regions: by policy before they are touched, by migration afterwards. */
#include "machine/memory/region.h"

#include <errno.h>
#include <numa.h>
#include <numaif.h>
#include <stdlib.h>
#include <string.h>

#include "machine/memory/arena.h"
#include "machine/memory/mapped.h"
#include "machine/topology/topology.h"

static int set_policy(struct region *r, int policy, const struct bitmask *nodes)
{
	if (!mbind(r->base, r->bytes, policy, nodes->maskp, nodes->size + 1, MPOL_MF_STRICT))
		return 0;
	if (errno != EPERM && errno != ENOSYS)
		return -1;
	if (r->arena->machine->nodes == 1) /* no other node to choose */
		return 0;
	arena_cannot(r->arena,
		     "%s can't be placed: the kernel refuses mbind (%s); in a container, allow "
		     "CAP_SYS_NICE",
		     r->name, strerror(errno));
	return -1;
}

int region_bind(struct region *r, int node)
{
	const struct machine *m = r->arena->machine;
	char lack[NODE_TEXT];
	struct bitmask *nodes;
	int status;

	errno = EINVAL;
	if (!machine_node(m, node))
		return -1;
	if (!machine_has_memory(m, machine_node(m, node))) {
		arena_cannot(r->arena, "%s can't lie on node %d, %s", r->name, node,
			     node_lack(m, machine_node(m, node), lack));
		return -1;
	}
	if (huge_on_node(r, node))
		return -1;
	nodes = numa_bitmask_alloc((unsigned)machine_highest_node(m) + 1);
	if (!nodes)
		return -1;
	numa_bitmask_setbit(nodes, (unsigned)node);
	status = set_policy(r, MPOL_BIND, nodes);
	numa_bitmask_free(nodes);
	if (!status)
		r->bound = node;
	return status;
}

int region_interleave(struct region *r)
{
	const struct machine *m = r->arena->machine;
	struct bitmask *nodes = numa_bitmask_alloc((unsigned)machine_highest_node(m) + 1);
	int status;

	if (!nodes)
		return -1;
	for (unsigned i = 0; i < m->nodes; i++)
		if (machine_has_memory(m, &m->node[i]))
			numa_bitmask_setbit(nodes, (unsigned)m->node[i].number);
	status = set_policy(r, MPOL_INTERLEAVE, nodes);
	numa_bitmask_free(nodes);
	return status;
}

void *region_on_node(struct arena *a, const char *name, size_t bytes, int node)
{
	struct region *r = region_map(a, name, bytes, PAGES_BASE);

	if (!r ||
	    (a->machine->nodes > 1 && region_bind(r, machine_first_touch(a->machine, node))) ||
	    arena_has_room(a))
		return NULL;
	region_home(r, 0, bytes, node);
	return memset(region_base(r), 0, bytes);
}

/* --- migration --- */

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
 * Tries twice, since a page that is busy now (under writeback, or pinned) may be movable a moment
 * later.
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
