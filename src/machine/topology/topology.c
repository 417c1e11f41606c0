/* SPDX-License-Identifier: Apache-2.0 */
/* Properties of a machine: its nodes, CPUs, levels, lists. */
#include "machine/topology/topology.h"

const struct node *machine_node(const struct machine *m, int number)
{
	for (unsigned i = 0; i < m->nodes; i++)
		if (m->node[i].number == number)
			return &m->node[i];
	return NULL;
}

bool machine_has_memory(const struct machine *m, const struct node *node)
{
	for (unsigned i = 0; i < m->nodes; i++)
		if (m->node[i].memory)
			return node->memory > 0;
	return true;
}

unsigned machine_memory_nodes(const struct machine *m)
{
	unsigned n = 0;

	for (unsigned i = 0; i < m->nodes; i++)
		n += machine_has_memory(m, &m->node[i]);
	return n;
}

int machine_highest_node(const struct machine *m)
{
	return m->node[m->nodes - 1].number;
}

int machine_first_touch(const struct machine *m, int number)
{
	const struct node *node = machine_node(m, number);

	return node ? node->first_touch : number;
}

const struct cpu *machine_cpu(const struct machine *m, int number)
{
	for (unsigned i = 0; i < m->cpus; i++)
		if (m->cpu[i].number == number)
			return &m->cpu[i];
	return NULL;
}

unsigned machine_cpu_nodes(const struct machine *m)
{
	unsigned n = 0;

	for (unsigned i = 0; i < m->nodes; i++)
		n += m->node[i].cores > 0;
	return n;
}

int machine_object_number(hwloc_obj_t object)
{
	return (int)(object->os_index == HWLOC_UNKNOWN_INDEX ? object->logical_index
							     : object->os_index);
}

size_t machine_apart(const struct machine *m)
{
	return 2 * m->line > 128 ? 2 * m->line : 128;
}

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

/* Frees the set. */
static const char *set_text(hwloc_bitmap_t set, char *text)
{
	number_list_text(set, text);
	hwloc_bitmap_free(set);
	return text;
}

const char *cpu_list(const struct machine *m, int node, char text[NUMBER_LIST_TEXT])
{
	hwloc_bitmap_t set = hwloc_bitmap_alloc();

	for (unsigned i = 0; i < m->cpus; i++)
		if (node == ALL_NODES || m->cpu[i].node == node)
			hwloc_bitmap_set(set, (unsigned)m->cpu[i].number);
	return set_text(set, text);
}

const char *cpu_kind_list(const struct machine *m, unsigned kind, char text[NUMBER_LIST_TEXT])
{
	hwloc_bitmap_t set = hwloc_bitmap_alloc();

	for (unsigned i = 0; i < m->cpus; i++)
		if (m->cpu[i].kind == kind)
			hwloc_bitmap_set(set, (unsigned)m->cpu[i].number);
	return set_text(set, text);
}

const char *cpu_node_list(const struct machine *m, char text[NUMBER_LIST_TEXT])
{
	hwloc_bitmap_t set = hwloc_bitmap_alloc();

	for (unsigned i = 0; i < m->nodes; i++)
		if (m->node[i].cores)
			hwloc_bitmap_set(set, (unsigned)m->node[i].number);
	return set_text(set, text);
}
