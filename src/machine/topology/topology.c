/* SPDX-License-Identifier: Apache-2.0 */
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
