/* SPDX-License-Identifier: Apache-2.0 */
#include "machine/topology.h"

#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <glob.h>
#include <limits.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <hwloc/distances.h>

#include "base/sysfs.h"
#include "base/why.h"
#include "machine/hmat.h"
#include "machine/limits.h"
#include "machine/order.h"
#include "machine/tlb.h"

/* of a synthetic machine: hwloc needs seconds for as many, and the square of it for more */
#define MOST_CPUS (1u << 13)
#define EXAMPLE	  "\"node:2 core:64 pu:2\""
#define EXPECTED \
	"an XML file of hwloc (lstopo FILE.xml writes one) or a description such as " EXAMPLE
#define NODES "/sys/devices/system/node"

/* Opening a machine. */

/*
 * CPUs of a synthetic description: the product of the counts outside brackets and parentheses, each
 * read as hwloc reads it.
 */
static double synthetic_cpus(const char *text)
{
	double product = 1;
	int depth = 0;

	for (const char *c = text; *c; c++) {
		char *end;
		unsigned long long count;

		depth += (*c == '(' || *c == '[') - (*c == ')' || *c == ']');
		if (depth || isspace((unsigned char)*c) ||
		    (c != text && c[-1] != ':' && !isspace((unsigned char)c[-1])))
			continue;
		count = strtoull(c, &end, 0);
		if (end != c && count)
			product *= (double)count;
	}
	return product;
}

static int take_synthetic(struct machine *m, const char *text, const char **error)
{
	double cpus = synthetic_cpus(text);

	if (strchr(text, '/') || strstr(text, ".xml"))
		return say(error, "topology %.200s: no such file; expected " EXPECTED, text);
	if (cpus > MOST_CPUS)
		return say(error,
			   "topology \"%.200s\" would have %.0f CPUs; at most %u are possible, as "
			   "in " EXAMPLE,
			   text, cpus, MOST_CPUS);
	if (hwloc_topology_set_synthetic(m->topology, text) || hwloc_topology_load(m->topology))
		return say(error,
			   "topology \"%.200s\" is neither a file nor a description; "
			   "expected " EXPECTED,
			   text);
	return 0;
}

static int take_file(struct machine *m, const char *path, const struct stat *status,
		     const char **error)
{
	const char *what = "not the XML of a topology";

	if (!S_ISREG(status->st_mode))
		what = "not a regular file";
	else if (access(path, R_OK))
		what = strerror(errno);
	else if (!hwloc_topology_set_xml(m->topology, path) && !hwloc_topology_load(m->topology))
		return 0;
	return say(error, "topology %.200s: %s; expected " EXPECTED, path, what);
}

/*
 * Containers may hide a folder under an empty one, at which hwloc ends the program (an assertion,
 * not an error).
 */
static bool nodes_are_hidden(void)
{
	return sysfs_exists(THIS_MACHINE, NODES) && sysfs_hidden(THIS_MACHINE, NODES);
}

/* Variables by which hwloc would read another machine, or less of this one. */
static const char *const misleading[] = { "HWLOC_XMLFILE",    "HWLOC_SYNTHETIC",
					  "HWLOC_FSROOT",     "HWLOC_CPUID_PATH",
					  "HWLOC_COMPONENTS", "HWLOC_THISSYSTEM",
					  "HWLOC_ALLOW",      "HWLOC_DUMPED_HWDATA_DIR" };

/*
 * Removes them for good, because LIKWID's library uses hwloc too. topology_warn() names them.
 */
static void ignore_variables(struct machine *m)
{
	for (unsigned i = 0; i < sizeof(misleading) / sizeof(*misleading); i++) {
		size_t used = strlen(m->ignored);

		if (!getenv(misleading[i]))
			continue;
		unsetenv(misleading[i]);
		snprintf(m->ignored + used, sizeof(m->ignored) - used, used ? ", %s" : "%s",
			 misleading[i]);
	}
}

static int take_this(struct machine *m, const char **error)
{
	/* what processors say of themselves is left, or else their number */
	if (nodes_are_hidden())
		hwloc_topology_set_components(m->topology, HWLOC_TOPOLOGY_COMPONENTS_FLAG_BLACKLIST,
					      "linux:cpu");
	if (hwloc_topology_load(m->topology))
		return say(error, "hwloc can't read the topology of this machine: %s",
			   strerror(errno));
	if (!hwloc_topology_is_thissystem(m->topology))
		return say(error, "hwloc read the topology of another machine; unset the variables "
				  "HWLOC_...");
	m->here = true;
	return 0;
}

static int load(struct machine *m, const char *description, const char **error)
{
	struct stat file;
	int status;

	if (!description)
		ignore_variables(m);
	if (hwloc_topology_init(&m->topology)) {
		m->topology = NULL;
		return say(error, "hwloc can't begin to read a topology: %s", strerror(errno));
	}
	/*
	 * All that is there: a CPU may be ours on a node whose memory is not, and has that node all
	 * the same.
	 */
	hwloc_topology_set_flags(m->topology, HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED);
	if (!description)
		status = take_this(m, error);
	else if (!stat(description, &file))
		status = take_file(m, description, &file, error);
	else
		status = take_synthetic(m, description, error);
	if (status)
		return -1;
	m->name = strdup(description ? description : "this machine");
	return m->name ? 0 : say(error, "out of memory");
}

static int by_number(const void *a, const void *b)
{
	const struct node *x = a, *y = b;

	return (x->number > y->number) - (x->number < y->number);
}

int object_number(hwloc_obj_t object)
{
	return (int)(object->os_index == HWLOC_UNKNOWN_INDEX ? object->logical_index
							     : object->os_index);
}

static int read_nodes(struct machine *m)
{
	hwloc_const_nodeset_t allowed = hwloc_topology_get_allowed_nodeset(m->topology);
	int found = hwloc_get_nbobjs_by_type(m->topology, HWLOC_OBJ_NUMANODE);
	struct node_memory whole;

	/* hwloc 2 always has one; should it not, all is node 0 */
	m->nodes = found > 0 ? (unsigned)found : 1;
	m->node = calloc(m->nodes, sizeof(*m->node));
	if (!m->node)
		return -1;
	for (int i = 0; i < found; i++) {
		hwloc_obj_t node =
			hwloc_get_obj_by_type(m->topology, HWLOC_OBJ_NUMANODE, (unsigned)i);

		m->node[i].number = object_number(node);
		if (hwloc_bitmap_isset(allowed, node->os_index))
			m->node[i].memory = node->attr->numanode.local_memory;
		else if (node->attr->numanode.local_memory)
			m->node[i].lack = NOT_IN_CPUSET;
	}
	qsort(m->node, m->nodes, sizeof(*m->node), by_number);
	if (m->here && m->nodes == 1 && !m->node[0].memory &&
	    !node_memory_read(THIS_MACHINE, m->node[0].number, &whole))
		m->node[0].memory = whole.total; /* hwloc asks /sys alone, and that may be hidden */
	return 0;
}

/*
 * The CPUs of a node. hwloc lends memory-only nodes the CPUs that are nearest to them, so that a
 * CPU seems to have several nodes; the kernel's own list is asked first.
 */
static hwloc_bitmap_t cpus_of(const struct machine *m, hwloc_obj_t node)
{
	hwloc_bitmap_t kernel = NULL;

	if (m->here)
		kernel = sysfs_list(THIS_MACHINE, NODES "/node%d/cpulist", object_number(node));
	return kernel ? kernel : hwloc_bitmap_dup(node->cpuset);
}

/*
 * The smallest node wins that has the CPU, then the one with the lowest number: memory-only ones
 * are numbered last.
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
		int size = hwloc_bitmap_weight(cpus), number = object_number(node);

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

	if (m->here && usable && mine &&
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
		cpu->package = package ? object_number(package) : 0;
		cpu->sibling = core == last_core ? cpu[-1].sibling + 1 : 0;
		cpu->core = cpu->sibling ? m->cores - 1 : m->cores++;
		last_core = core;
		m->cpus++;
		/* How many cores of ours are below each object: spread_rank() counts with it. */
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
		return say(error, "out of memory");
	}
	take_cpus(m, usable);
	hwloc_bitmap_free(usable);
	return m->cpus ? 0 : say(error, "%s has no CPU that this process may use", m->name);
}

static void count_cpus(struct machine *m)
{
	for (unsigned n = 0; n < m->nodes; n++)
		m->node[n].cpus = m->node[n].cores = 0;
	for (unsigned i = 0; i < m->cpus; i++)
		for (unsigned n = 0; n < m->nodes; n++)
			if (m->node[n].number == m->cpu[i].node) {
				m->node[n].cpus++;
				m->node[n].cores += m->cpu[i].sibling == 0;
			}
}

static size_t cache_line(const struct machine *m)
{
	long line = m->here ? sysconf(_SC_LEVEL1_DCACHE_LINESIZE) : 0;

	for (hwloc_obj_type_t type = HWLOC_OBJ_L1CACHE; line <= 0 && type <= HWLOC_OBJ_L5CACHE;
	     type++) {
		hwloc_obj_t cache = hwloc_get_obj_by_type(m->topology, type, 0);

		line = cache ? (long)cache->attr->cache.linesize : 0;
	}
	/* guests and simulators may say nothing; the header says so */
	return line > 0 ? (size_t)line : 64;
}

size_t machine_apart(const struct machine *m)
{
	return 2 * m->line > 128 ? 2 * m->line : 128;
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

static void read_sizes(struct machine *m)
{
	uint64_t huge = 0;

	m->page = (size_t)sysconf(_SC_PAGESIZE);
	sysfs_number(THIS_MACHINE, &huge, "/sys/kernel/mm/transparent_hugepage/hpage_pmd_size");
	m->huge_page = (size_t)huge;
	m->line = cache_line(m);
	m->last_cache = last_cache(m);
}

struct machine *machine_open(const char *description, const char **error)
{
	struct machine *m = calloc(1, sizeof(*m));

	if (!m) {
		explain(error, "out of memory");
		return NULL;
	}
	if (load(m, description, error) || read_cpus(m, error))
		goto fail;
	if (read_nodes(m)) {
		explain(error, "out of memory");
		goto fail;
	}
	read_cpu_nodes(m);
	count_cpus(m);
	read_sizes(m);
	nodes_settle(m);
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
	free(m);
}

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

const char *const level_names[LEVELS] = {
	[SAME_CPU] = "CPU",	   [SAME_CORE] = "SMT",	 [SAME_L2] = "L2",
	[SAME_L3] = "L3",	   [SAME_NODE] = "node", [SAME_PACKAGE] = "package",
	[SAME_MACHINE] = "machine"
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
		return SAME_CPU;
	if (!a || !b)
		return SAME_MACHINE;
	if (a->core == b->core)
		return SAME_CORE;
	if (a->node != b->node)
		return a->package == b->package ? SAME_PACKAGE : SAME_MACHINE;
	if (share_cache(m, HWLOC_OBJ_L2CACHE, cpu, other))
		return SAME_L2;
	return share_cache(m, HWLOC_OBJ_L3CACHE, cpu, other) ? SAME_L3 : SAME_NODE;
}

unsigned machine_cpu_nodes(const struct machine *m)
{
	unsigned n = 0;

	for (unsigned i = 0; i < m->nodes; i++)
		n += m->node[i].cores > 0;
	return n;
}

/* The cores that were counted below each object, and the CPUs themselves, are counted anew. */
static void keep(struct machine *m, const struct order *order)
{
	hwloc_bitmap_t kept = hwloc_bitmap_alloc();

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
	read_cpu_nodes(m);
	count_cpus(m);
	read_sizes(m);
}

int machine_restrict(struct machine *m, const char *bind, const char **why)
{
	struct order order = { 0, calloc(m->cpus, sizeof(*order.cpu)) };
	int status = order.cpu ? 0 : say(why, "out of memory");

	if (!status && !is_order(bind) && !(status = order_list(m, bind, &order, why)))
		keep(m, &order);
	free(order.cpu);
	return status;
}

void topology_warn(const struct machine *m)
{
	if (*m->ignored)
		fprintf(stderr,
			"locus: ignored: %s; this machine itself is read (another one: "
			"--dry-run --topology)\n",
			m->ignored);
}
