/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "harness/sample/beside.h"
#include "harness/plan/planned.h"
#include "machine/clock.h"
#include "machine/memory/probe.h"
#include "machine/topology/topology.h"

static hwloc_obj_t above(const struct machine *m, int cpu, hwloc_obj_type_t type)
{
	hwloc_obj_t pu = hwloc_get_pu_obj_by_os_index(m->topology, (unsigned)cpu);

	return pu ? hwloc_get_ancestor_obj_by_type(m->topology, type, pu) : NULL;
}

/* Bytes of the L2 caches of the trial's CPUs together; 0: unknown. */
static size_t own_caches(const struct planned *p)
{
	hwloc_bitmap_t counted = hwloc_bitmap_alloc();
	size_t bytes = 0;

	for (unsigned i = 0; counted && i < p->cpus; i++) {
		hwloc_obj_t cache = above(p->trial.machine, p->cpu[i], HWLOC_OBJ_L2CACHE);

		if (!cache || hwloc_bitmap_isset(counted, (unsigned)p->cpu[i]))
			continue;
		bytes += cache->attr->cache.size;
		hwloc_bitmap_or(counted, counted, cache->cpuset);
	}
	hwloc_bitmap_free(counted);
	return bytes;
}

/*
 * Whether the trial's lines go beyond its L2 for sure. Some of what it maps is not used by its
 * samples (verification, the end of a huge page), so they must be far more.
 */
static bool reaches_memory(const struct planned *p)
{
	const size_t own = own_caches(p),
		     bytes = p->needs.touched ? p->needs.touched : p->needs.bytes;

	return own && bytes > 2 * own + p->trial.machine->huge_page;
}

/* Adds the CPUs that share the core, or the memory of the node; also those that others may use. */
static void add_sharing(const struct machine *m, int cpu, bool memory, hwloc_bitmap_t set)
{
	const struct cpu *own = machine_cpu(m, cpu);
	hwloc_obj_t core = above(m, cpu, HWLOC_OBJ_CORE), node = NULL;

	if (core)
		hwloc_bitmap_or(set, set, core->complete_cpuset);
	while (memory && own &&
	       (node = hwloc_get_next_obj_by_type(m->topology, HWLOC_OBJ_NUMANODE, node)))
		if (machine_object_number(node) == own->node)
			hwloc_bitmap_or(set, set, node->complete_cpuset);
}

static int list(struct beside *b, hwloc_const_bitmap_t set)
{
	const int n = hwloc_bitmap_weight(set);
	unsigned cpu;

	if (n <= 0)
		return 0;
	b->cpu = calloc((size_t)n, sizeof(*b->cpu));
	if (!b->cpu)
		return -1;
	hwloc_bitmap_foreach_begin(cpu, set)
	{
		b->cpu[b->cpus++] = (int)cpu;
	}
	hwloc_bitmap_foreach_end();
	return 0;
}

int beside_open(struct beside *b, const struct planned *p)
{
	const struct trial *t = &p->trial;
	hwloc_bitmap_t set;
	int status;

	*b = (struct beside){ 0 };
	if (!p->cpus || p->refusal || t->ranks || t->floating)
		return 0;
	set = hwloc_bitmap_alloc();
	if (!set)
		return -1;
	b->memory = reaches_memory(p);
	for (unsigned i = 0; i < p->cpus; i++)
		add_sharing(t->machine, p->cpu[i], b->memory, set);
	for (unsigned i = 0; i < p->cpus; i++)
		hwloc_bitmap_clr(set, (unsigned)p->cpu[i]);
	status = list(b, set);
	hwloc_bitmap_free(set);
	return status;
}

void beside_close(struct beside *b)
{
	probe_close(b->lines);
	free(b->cpu);
}

double beside_look(struct beside *b)
{
	const double began = clock_now();
	double line;

	if (!b->memory)
		return 0;
	if (!b->lines)
		b->lines = probe_open();
	line = b->lines ? probe_read(b->lines) : 0;
	b->spent += clock_now() - began;
	return line;
}
