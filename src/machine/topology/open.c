/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the machine, and restricts it to the CPUs that may be used. */
#include "machine/topology/topology.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/message.h"
#include "base/sysfs.h"
#include "base/why.h"
#include "machine/topology/load.h"

#define NODES "/sys/devices/system/node"

static int by_number(const void *a, const void *b)
{
	const struct node *x = a, *y = b;

	return (x->number > y->number) - (x->number < y->number);
}

static int read_nodes(struct machine *m)
{
	hwloc_const_nodeset_t allowed = hwloc_topology_get_allowed_nodeset(m->topology);
	int found = hwloc_get_nbobjs_by_type(m->topology, HWLOC_OBJ_NUMANODE);
	struct node_memory whole;

	/* hwloc 2 always has a node; should it have none, assume node 0 */
	m->nodes = found > 0 ? (unsigned)found : 1;
	m->node = calloc(m->nodes, sizeof(*m->node));
	if (!m->node)
		return -1;
	for (int i = 0; i < found; i++) {
		hwloc_obj_t node =
			hwloc_get_obj_by_type(m->topology, HWLOC_OBJ_NUMANODE, (unsigned)i);

		m->node[i].number = machine_object_number(node);
		if (hwloc_bitmap_isset(allowed, node->os_index))
			m->node[i].memory = node->attr->numanode.local_memory;
		else if (node->attr->numanode.local_memory)
			m->node[i].lack = NODE_NOT_IN_CPUSET;
	}
	qsort(m->node, m->nodes, sizeof(*m->node), by_number);
	/* hwloc reads /sys, which may be hidden, or show only a part of a guest's memory */
	if (m->running && m->nodes == 1 && !node_memory_read(SYSFS_ROOT, m->node[0].number, &whole))
		m->node[0].memory = whole.total;
	return 0;
}

/*
 * The CPUs of a node, by the kernel's list if there is one: hwloc gives memory-only nodes the CPUs
 * nearest to them, so that a CPU seems to have several nodes.
 */
static hwloc_bitmap_t cpus_of(const struct machine *m, hwloc_obj_t node)
{
	hwloc_bitmap_t kernel = NULL;

	if (m->running)
		kernel = sysfs_list(SYSFS_ROOT, NODES "/node%d/cpulist",
				    machine_object_number(node));
	return kernel ? kernel : hwloc_bitmap_dup(node->cpuset);
}

/*
 * Sets each CPU's node. If several nodes list the CPU, the one with fewest CPUs wins, then the
 * lowest number: memory-only nodes are numbered last.
 */
static void read_cpu_nodes(struct machine *m)
{
	int found = hwloc_get_nbobjs_by_type(m->topology, HWLOC_OBJ_NUMANODE);
	int *weight = calloc(m->cpus, sizeof(*weight));

	for (unsigned i = 0; i < m->cpus; i++)
		m->cpu[i].node = m->node[0].number;
	for (int n = 0; n < found && weight; n++) {
		hwloc_obj_t node =
			hwloc_get_obj_by_type(m->topology, HWLOC_OBJ_NUMANODE, (unsigned)n);
		hwloc_bitmap_t cpus = cpus_of(m, node);
		int size = hwloc_bitmap_weight(cpus), number = machine_object_number(node);

		for (unsigned i = 0; i < m->cpus; i++) {
			struct cpu *cpu = &m->cpu[i];

			if (!hwloc_bitmap_isset(cpus, (unsigned)cpu->number))
				continue;
			if (weight[i] &&
			    (weight[i] < size || (weight[i] == size && cpu->node < number)))
				continue;
			weight[i] = size;
			cpu->node = number;
		}
		hwloc_bitmap_free(cpus);
	}
	free(weight);
}

static hwloc_bitmap_t usable_cpus(const struct machine *m)
{
	hwloc_bitmap_t usable = hwloc_bitmap_dup(hwloc_topology_get_allowed_cpuset(m->topology)),
		       mine = hwloc_bitmap_alloc();

	if (m->running && usable && mine &&
	    !hwloc_get_cpubind(m->topology, mine, HWLOC_CPUBIND_THREAD))
		hwloc_bitmap_and(usable, usable, mine);
	hwloc_bitmap_free(mine);
	return usable;
}

/* Fills m->cpu, which has room for all CPUs of the topology. */
static void take_cpus(struct machine *m, hwloc_const_bitmap_t usable)
{
	int found = hwloc_get_nbobjs_by_type(m->topology, HWLOC_OBJ_PU);
	hwloc_obj_t last_core = NULL;

	m->cpus = m->cores = 0;
	for (int i = 0; i < found; i++) {
		hwloc_obj_t pu = hwloc_get_obj_by_type(m->topology, HWLOC_OBJ_PU, (unsigned)i);
		hwloc_obj_t core = hwloc_get_ancestor_obj_by_type(m->topology, HWLOC_OBJ_CORE, pu);
		hwloc_obj_t package =
			hwloc_get_ancestor_obj_by_type(m->topology, HWLOC_OBJ_PACKAGE, pu);
		struct cpu *cpu = &m->cpu[m->cpus];

		if (!hwloc_bitmap_isset(usable, pu->os_index))
			continue;
		core = core ? core : pu;
		cpu->number = (int)pu->os_index;
		cpu->package = package ? machine_object_number(package) : 0;
		cpu->sibling = core == last_core ? cpu[-1].sibling + 1 : 0;
		cpu->core = cpu->sibling ? m->cores - 1 : m->cores++;
		last_core = core;
		m->cpus++;
		/* Counts the usable cores below each object, for spread_rank(). */
		for (hwloc_obj_t o = pu; o && !cpu->sibling; o = o->parent)
			o->userdata = (void *)((uintptr_t)o->userdata + 1);
	}
}

static int read_cpus(struct machine *m, const char **error)
{
	int found = hwloc_get_nbobjs_by_type(m->topology, HWLOC_OBJ_PU);
	hwloc_bitmap_t usable = usable_cpus(m);

	m->cpu = calloc(found > 0 ? (size_t)found : 1, sizeof(*m->cpu));
	if (!m->cpu || !usable) {
		hwloc_bitmap_free(usable);
		return why_fail(error, "out of memory");
	}
	take_cpus(m, usable);
	hwloc_bitmap_free(usable);
	return m->cpus ? 0 : why_fail(error, "%s has no CPU that this process may use", m->name);
}

static void count_cpus(struct machine *m)
{
	for (unsigned n = 0; n < m->nodes; n++)
		m->node[n].cpus = m->node[n].cores = m->node[n].fast = 0;
	for (unsigned i = 0; i < m->cpus; i++)
		for (unsigned n = 0; n < m->nodes; n++)
			if (m->node[n].number == m->cpu[i].node) {
				m->node[n].cpus++;
				m->node[n].cores += m->cpu[i].sibling == 0;
				m->node[n].fast +=
					m->cpu[i].sibling == 0 && !kinds_rank(m, &m->cpu[i]);
			}
}

static size_t cache_line(const struct machine *m)
{
	long line = m->running ? sysconf(_SC_LEVEL1_DCACHE_LINESIZE) : 0;

	for (hwloc_obj_type_t type = HWLOC_OBJ_L1CACHE; line <= 0 && type <= HWLOC_OBJ_L5CACHE;
	     type++) {
		hwloc_obj_t cache = hwloc_get_obj_by_type(m->topology, type, 0);

		line = cache ? (long)cache->attr->cache.linesize : 0;
	}
	/* guests and simulators may report none; topology.h promises 64 */
	return line > 0 ? (size_t)line : 64;
}

static size_t last_cache(const struct machine *m)
{
	hwloc_obj_t cache = NULL;
	size_t largest = 0;

	for (hwloc_obj_type_t type = HWLOC_OBJ_L1CACHE; type <= HWLOC_OBJ_L5CACHE; type++)
		while ((cache = hwloc_get_next_obj_by_type(m->topology, type, cache)))
			if (cache->userdata && cache->attr->cache.size > largest)
				largest = cache->attr->cache.size;
	return largest;
}

/* The caches of all cores together: an AMD socket has up to 16 L3. */
static size_t all_caches(const struct machine *m)
{
	size_t most = 0;

	for (hwloc_obj_type_t type = HWLOC_OBJ_L1CACHE; type <= HWLOC_OBJ_L5CACHE; type++) {
		hwloc_obj_t cache = NULL;
		size_t sum = 0;

		while ((cache = hwloc_get_next_obj_by_type(m->topology, type, cache)))
			if (cache->userdata)
				sum += cache->attr->cache.size;
		most = sum > most ? sum : most;
	}
	return most;
}

static void read_sizes(struct machine *m)
{
	uint64_t huge = 0;

	m->page = (size_t)sysconf(_SC_PAGESIZE);
	sysfs_number(SYSFS_ROOT, &huge, "/sys/kernel/mm/transparent_hugepage/hpage_pmd_size");
	m->huge_page = (size_t)huge;
	m->line = cache_line(m);
	m->last_cache = last_cache(m);
	m->all_caches = all_caches(m);
}

struct machine *machine_open(const char *description, const char **error)
{
	struct machine *m = calloc(1, sizeof(*m));

	if (!m) {
		why_set(error, "out of memory");
		return NULL;
	}
	if (topology_load(m, description, error) || read_cpus(m, error))
		goto fail;
	if (read_nodes(m) || kinds_find(m)) {
		why_set(error, "out of memory");
		goto fail;
	}
	read_cpu_nodes(m);
	count_cpus(m);
	read_sizes(m);
	nodes_find_memory(m);
	return m;
fail:
	machine_close(m);
	return NULL;
}

void machine_close(struct machine *m)
{
	if (!m)
		return;
	if (m->topology)
		hwloc_topology_destroy(m->topology);
	free((char *)m->name);
	free(m->cpu);
	free(m->node);
	free(m->kind);
	free(m);
}

/* Keeps only these CPUs, and recounts what depends on them. */
static int keep(struct machine *m, const struct cpu_order *order, const char **why)
{
	hwloc_bitmap_t kept = hwloc_bitmap_alloc();
	int failed;

	for (unsigned i = 0; i < order->n; i++)
		hwloc_bitmap_set(kept, (unsigned)order->cpu[i]->number);
	for (unsigned i = 0; i < m->cpus; i++) {
		hwloc_obj_t pu =
			hwloc_get_pu_obj_by_os_index(m->topology, (unsigned)m->cpu[i].number);

		for (hwloc_obj_t o = pu; o; o = o->parent)
			o->userdata = NULL;
	}
	take_cpus(m, kept);
	hwloc_bitmap_free(kept);
	failed = kinds_find(m);
	read_cpu_nodes(m);
	count_cpus(m);
	read_sizes(m);
	return failed ? why_fail(why, "out of memory") : 0;
}

int machine_restrict(struct machine *m, const char *bind, const char **why)
{
	struct cpu_order order = { 0, calloc(m->cpus, sizeof(*order.cpu)) };
	int status = order.cpu ? 0 : why_fail(why, "out of memory");

	if (!status && !order_is_word(bind) && !(status = order_list(m, bind, &order, why)))
		status = keep(m, &order, why);
	free(order.cpu);
	return status;
}

void topology_warn(const struct machine *m)
{
	if (*m->ignored)
		message_own("ignored: %s; locus reads this machine itself (for another one: "
			    "--dry-run --topology)",
			    m->ignored);
}
