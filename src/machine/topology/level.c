/* SPDX-License-Identifier: Apache-2.0 */
#include "machine/topology/level.h"

#include "machine/topology/topology.h"

const char *const machine_level_names[LEVELS] = {
	[LEVEL_CPU] = "CPU",	    [LEVEL_CORE] = "SMT",  [LEVEL_L2] = "L2",
	[LEVEL_L3] = "L3",	    [LEVEL_NODE] = "node", [LEVEL_PACKAGE] = "package",
	[LEVEL_MACHINE] = "machine"
};

static bool share_cache(const struct machine *m, hwloc_obj_type_t type, int cpu, int other)
{
	hwloc_obj_t a = hwloc_get_pu_obj_by_os_index(m->topology, (unsigned)cpu),
		    cache = a ? hwloc_get_ancestor_obj_by_type(m->topology, type, a) : NULL;

	return cache && hwloc_bitmap_isset(cache->cpuset, (unsigned)other);
}

enum level machine_level(const struct machine *m, int cpu, int other)
{
	const struct cpu *a = machine_cpu(m, cpu), *b = machine_cpu(m, other);

	if (cpu == other)
		return LEVEL_CPU;
	if (!a || !b)
		return LEVEL_MACHINE;
	if (a->core == b->core)
		return LEVEL_CORE;
	if (a->node != b->node)
		return a->package == b->package ? LEVEL_PACKAGE : LEVEL_MACHINE;
	if (share_cache(m, HWLOC_OBJ_L2CACHE, cpu, other))
		return LEVEL_L2;
	return share_cache(m, HWLOC_OBJ_L3CACHE, cpu, other) ? LEVEL_L3 : LEVEL_NODE;
}
