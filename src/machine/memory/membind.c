/* SPDX-License-Identifier: Apache-2.0 */
#include "machine/memory/membind.h"

#include <errno.h>
#include <numa.h>
#include <numaif.h>
#include <string.h>

#include "machine/memory/arena.h"
#include "machine/memory/huge.h"
#include "machine/memory/mapped.h"
#include "machine/memory/region.h"
#include "machine/topology/nodes.h"
#include "machine/memory/room.h"
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
