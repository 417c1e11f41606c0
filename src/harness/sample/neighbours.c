/* SPDX-License-Identifier: Apache-2.0 */
#include <stdbool.h>
#include <stdlib.h>

#include "harness/sample/neighbours.h"
#include "harness/plan/plan.h"
#include "machine/clock.h"
#include "machine/memory/probe.h"
#include "machine/topology/topology.h"

static hwloc_obj_t above(const struct machine *m, int cpu, hwloc_obj_type_t type)
{
	hwloc_obj_t pu = hwloc_get_pu_obj_by_os_index(m->topology, (unsigned)cpu);

	return pu ? hwloc_get_ancestor_obj_by_type(m->topology, type, pu) : NULL;
}

static size_t size_within(hwloc_obj_t cache, size_t most)
{
	const size_t size = cache->attr->cache.size,
		     all = most * (size_t)hwloc_bitmap_weight(cache->complete_cpuset);

	return most && size > all ? all : size;
}

/* Bytes of these caches of the trial's CPUs, `most` a CPU at most (0: no limit); 0: unknown. */
static size_t caches(const struct planned *p, hwloc_obj_type_t type, size_t most)
{
	hwloc_bitmap_t counted = hwloc_bitmap_alloc();
	size_t bytes = 0;

	for (unsigned i = 0; counted && i < p->cpus; i++) {
		hwloc_obj_t cache = above(p->trial.machine, p->cpu[i], type);

		if (!cache || hwloc_bitmap_isset(counted, (unsigned)p->cpu[i]))
			continue;
		bytes += size_within(cache, most);
		hwloc_bitmap_or(counted, counted, cache->cpuset);
	}
	hwloc_bitmap_free(counted);
	return bytes;
}

/*
 * Samples do not use all memory of a trial (verification, the end of a huge page), so its lines
 * certainly exceed L2 only if there are far more. They certainly stay in L3 only if they fill at
 * most half of it; else the trial itself may evict the probe's lines.
 */
static enum neighbours_level level_of(const struct planned *p)
{
	const size_t own = caches(p, HWLOC_OBJ_L2CACHE, 0),
		     bytes = p->needs.touched ? p->needs.touched : p->needs.bytes;

	if (!own || bytes <= 2 * own + p->trial.machine->huge_page)
		return NEIGHBOURS_CORE;
	return bytes <= caches(p, HWLOC_OBJ_L3CACHE, NEIGHBOURS_L3_CPU) / 2 ? NEIGHBOURS_L3
									    : NEIGHBOURS_MEMORY;
}

static void add_cpus(hwloc_obj_t object, hwloc_bitmap_t set)
{
	if (object)
		hwloc_bitmap_or(set, set, object->complete_cpuset);
}

/*
 * Adds the CPUs that share this CPU's core or the level, including CPUs that only others may use.
 */
static void add_sharing(const struct machine *m, int cpu, enum neighbours_level level,
			hwloc_bitmap_t set)
{
	const struct cpu *own = machine_cpu(m, cpu);
	hwloc_obj_t node = NULL;

	add_cpus(above(m, cpu, HWLOC_OBJ_CORE), set);
	if (level == NEIGHBOURS_L3)
		add_cpus(above(m, cpu, HWLOC_OBJ_L3CACHE), set);
	while (level == NEIGHBOURS_MEMORY && own &&
	       (node = hwloc_get_next_obj_by_type(m->topology, HWLOC_OBJ_NUMANODE, node)))
		if (machine_object_number(node) == own->node)
			hwloc_bitmap_or(set, set, node->complete_cpuset);
}

static int list(struct neighbours *b, hwloc_const_bitmap_t set)
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

/* Whether no two threads of the trial are on one core. `seen`: an empty set. */
static bool apart(const struct planned *p, hwloc_bitmap_t seen)
{
	bool all = !p->trial.oversubscribed;

	for (unsigned i = 0; all && i < p->cpus; i++) {
		hwloc_obj_t core = above(p->trial.machine, p->cpu[i], HWLOC_OBJ_CORE);

		all = !hwloc_bitmap_isset(seen, (unsigned)p->cpu[i]);
		add_cpus(core, seen);
	}
	return all;
}

struct undisturbed *neighbours_undisturbed(const struct neighbours *b, const struct trial *t,
					   unsigned worker)
{
	const struct cpu *cpu =
		b->undisturbed && t->place ? machine_cpu(t->machine, t->place[worker].cpu) : NULL;

	return cpu ? b->undisturbed + (cpu - t->machine->cpu) : NULL;
}

int neighbours_open(struct neighbours *b, const struct planned *p)
{
	const struct trial *t = &p->trial;
	hwloc_bitmap_t set;
	int status;

	*b = (struct neighbours){ 0 };
	if (!p->cpus || p->refusal || t->ranks || t->floating)
		return 0;
	set = hwloc_bitmap_alloc();
	if (!set)
		return -1;
	b->level = level_of(p);
	b->apart = apart(p, set);
	for (unsigned i = 0; i < p->cpus; i++)
		add_sharing(t->machine, p->cpu[i], b->level, set);
	for (unsigned i = 0; i < p->cpus; i++)
		hwloc_bitmap_clr(set, (unsigned)p->cpu[i]);
	status = list(b, set);
	hwloc_bitmap_free(set);
	return status;
}

void neighbours_close(struct neighbours *b)
{
	probe_close(b->lines);
	free(b->cpu);
}

void neighbours_ready(struct neighbours *b)
{
	const double began = clock_now();

	if (b->level == NEIGHBOURS_CORE)
		return;
	if (!b->lines)
		b->lines = probe_open();
	if (b->lines && b->level == NEIGHBOURS_L3)
		probe_touch(b->lines);
	b->spent += clock_now() - began;
}

struct neighbours_look neighbours_look(struct neighbours *b)
{
	const double began = clock_now();
	struct neighbours_look look = { 0 };
	struct probe_kept kept;

	if (!b->lines)
		return look;
	if (b->level == NEIGHBOURS_L3) {
		kept = probe_kept(b->lines);
		look = (struct neighbours_look){ kept.line, kept.memory };
	} else
		look.line = probe_read(b->lines);
	b->spent += clock_now() - began;
	return look;
}
