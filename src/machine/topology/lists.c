/* SPDX-License-Identifier: Apache-2.0 */
#include "machine/topology/lists.h"

#include "machine/topology/node_memory.h"
#include "machine/topology/topology.h"

const char *cpu_list(const struct machine *m, int node, char text[NUMBER_LIST_TEXT])
{
	hwloc_bitmap_t set = hwloc_bitmap_alloc();

	for (unsigned i = 0; i < m->cpus; i++)
		if (node == ALL_NODES || m->cpu[i].node == node)
			hwloc_bitmap_set(set, (unsigned)m->cpu[i].number);
	number_list_text(set, text);
	hwloc_bitmap_free(set);
	return text;
}

const char *cpu_kind_list(const struct machine *m, unsigned kind, char text[NUMBER_LIST_TEXT])
{
	hwloc_bitmap_t set = hwloc_bitmap_alloc();

	for (unsigned i = 0; i < m->cpus; i++)
		if (m->cpu[i].kind == kind)
			hwloc_bitmap_set(set, (unsigned)m->cpu[i].number);
	number_list_text(set, text);
	hwloc_bitmap_free(set);
	return text;
}

const char *cpu_node_list(const struct machine *m, char text[NUMBER_LIST_TEXT])
{
	hwloc_bitmap_t set = hwloc_bitmap_alloc();

	for (unsigned i = 0; i < m->nodes; i++)
		if (m->node[i].cores)
			hwloc_bitmap_set(set, (unsigned)m->node[i].number);
	number_list_text(set, text);
	hwloc_bitmap_free(set);
	return text;
}
