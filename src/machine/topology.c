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

#include "machine/limits.h"
#include "machine/sysfs.h"
#include "machine/tlb.h"

#define MOST_CPUS    (1u << 13) /* of a synthetic machine: hwloc needs seconds for as many, and the square of it for more */
#define MOST_THREADS (1u << 20) /* of a layout, on one node: sums don't overflow */
#define EXAMPLE	     "\"node:2 core:64 pu:2\""
#define EXPECTED     "an XML file of hwloc (lstopo FILE.xml writes one) or a description such as " EXAMPLE
#define MORE	     "more threads than CPUs: --oversubscribe"
#define NODES	     "/sys/devices/system/node"
#define NUMBERS	     256 /* bytes of a list of CPUs in a sentence */

static void explain(const char **why, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void explain(const char **why, const char *format, ...)
{
	static _Thread_local char sentence[1024];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(sentence, sizeof(sentence), format, arguments);
	va_end(arguments);
	*why = sentence;
	errno = ENODEV;
}
#define say(why, ...) (explain(why, __VA_ARGS__), -1) /* in sight, so that checkers know that it has failed */

/* What was said is no word of ours, on whatever machine. */
static int misunderstood(int failed)
{
	errno = EINVAL;
	return failed;
}

struct text {
	char of[32];
};

static struct text count_text(unsigned n, const char *what)
{
	struct text t;

	snprintf(t.of, sizeof(t.of), "%u %s%s", n, what, n == 1 ? "" : "s");
	return t;
}

/* A decimal number up to `most`, and nothing like a sign or a blank before it; *at is moved behind it. */
static bool number_at(const char **at, unsigned most, unsigned *number)
{
	char *end;
	unsigned long value;

	if (!isdigit((unsigned char)**at))
		return false;
	errno = 0;
	value = strtoul(*at, &end, 10);
	if (errno || value > most)
		return false;
	*number = (unsigned)value;
	*at = end;
	return true;
}

/* "0-63,128-191", "0-254:2": as short as CPU numbers can be written. */
static const char *list_of(hwloc_const_bitmap_t set, char text[NUMBERS])
{
	size_t used = 0;

	text[0] = '\0';
	for (int first = hwloc_bitmap_first(set), last, next; first >= 0 && used < NUMBERS; first = next) {
		int step = hwloc_bitmap_next(set, first) - first, count = 1;

		for (last = first; (next = hwloc_bitmap_next(set, last)) > last && next == last + step; count++)
			last = next;
		if (step > 1 && count == 2) { /* "0,5" is better than "0-5:5" */
			next = last;
			last = first;
		}
		used += (size_t)snprintf(text + used, NUMBERS - used, used ? ",%d" : "%d", first);
		if (last > first && used < NUMBERS)
			used += (size_t)snprintf(text + used, NUMBERS - used, step > 1 ? "-%d:%d" : "-%d", last, step);
	}
	if (used >= NUMBERS)
		strcpy(text + NUMBERS - 4, "...");
	return text;
}

/* The numbers of the CPUs, or of the nodes with CPUs. */
static const char *cpu_list(const struct machine *m, int node, char text[NUMBERS])
{
	hwloc_bitmap_t set = hwloc_bitmap_alloc();

	for (unsigned i = 0; i < m->cpus; i++)
		if (node < 0 || m->cpu[i].node == node)
			hwloc_bitmap_set(set, (unsigned)m->cpu[i].number);
	list_of(set, text);
	hwloc_bitmap_free(set);
	return text;
}

static const char *cpu_node_list(const struct machine *m, char text[NUMBERS])
{
	hwloc_bitmap_t set = hwloc_bitmap_alloc();

	for (unsigned i = 0; i < m->nodes; i++)
		if (m->node[i].cores)
			hwloc_bitmap_set(set, (unsigned)m->node[i].number);
	list_of(set, text);
	hwloc_bitmap_free(set);
	return text;
}

/* Opening a machine. */

/* CPUs of a synthetic description: the product of the counts outside brackets and parentheses, each read as hwloc reads it. */
static double synthetic_cpus(const char *text)
{
	double product = 1;
	int depth = 0;

	for (const char *c = text; *c; c++) {
		char *end;
		unsigned long long count;

		depth += (*c == '(' || *c == '[') - (*c == ')' || *c == ']');
		if (depth || isspace((unsigned char)*c) || (c != text && c[-1] != ':' && !isspace((unsigned char)c[-1])))
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
		return say(error, "topology \"%.200s\" would have %.0f CPUs; at most %u are possible, as in " EXAMPLE, text, cpus,
			   MOST_CPUS);
	if (hwloc_topology_set_synthetic(m->topology, text) || hwloc_topology_load(m->topology))
		return say(error, "topology \"%.200s\" is neither a file nor a description; expected " EXPECTED, text);
	return 0;
}

static int take_file(struct machine *m, const char *path, const struct stat *status, const char **error)
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

/* Containers may hide a folder under an empty one, at which hwloc ends the program (an assertion, not an error). */
static bool nodes_are_hidden(void)
{
	return sysfs_exists(THIS_MACHINE, NODES) && sysfs_hidden(THIS_MACHINE, NODES);
}

static int take_this(struct machine *m, const char **error)
{
	if (nodes_are_hidden()) /* what processors say of themselves is left, or else their number */
		hwloc_topology_set_components(m->topology, HWLOC_TOPOLOGY_COMPONENTS_FLAG_BLACKLIST, "linux:cpu");
	if (hwloc_topology_load(m->topology))
		return say(error, "hwloc can't read the topology of this machine: %s", strerror(errno));
	/* HWLOC_XMLFILE and HWLOC_SYNTHETIC may put another machine in the place of this one. */
	m->here = hwloc_topology_is_thissystem(m->topology);
	return 0;
}

static int load(struct machine *m, const char *description, const char **error)
{
	struct stat file;
	int status;

	if (hwloc_topology_init(&m->topology)) {
		m->topology = NULL;
		return say(error, "hwloc can't begin to read a topology: %s", strerror(errno));
	}
	/* All that is there: a CPU may be ours on a node whose memory is not, and has that node all the same. */
	hwloc_topology_set_flags(m->topology, HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED);
	if (!description)
		status = take_this(m, error);
	else if (!stat(description, &file))
		status = take_file(m, description, &file, error);
	else
		status = take_synthetic(m, description, error);
	if (status)
		return -1;
	m->name = strdup(description ? description : m->here ? "this machine" : "the machine in HWLOC_XMLFILE or HWLOC_SYNTHETIC");
	return m->name ? 0 : say(error, "out of memory");
}

static int by_number(const void *a, const void *b)
{
	const struct node *x = a, *y = b;

	return (x->number > y->number) - (x->number < y->number);
}

static int number_of(hwloc_obj_t object)
{
	return (int)(object->os_index == HWLOC_UNKNOWN_INDEX ? object->logical_index : object->os_index);
}

static int read_nodes(struct machine *m)
{
	hwloc_const_nodeset_t allowed = hwloc_topology_get_allowed_nodeset(m->topology);
	int found = hwloc_get_nbobjs_by_type(m->topology, HWLOC_OBJ_NUMANODE);
	struct node_memory whole;

	m->nodes = found > 0 ? (unsigned)found : 1; /* hwloc 2 always has one; should it not, all is node 0 */
	m->node = calloc(m->nodes, sizeof(*m->node));
	if (!m->node)
		return -1;
	for (int i = 0; i < found; i++) {
		hwloc_obj_t node = hwloc_get_obj_by_type(m->topology, HWLOC_OBJ_NUMANODE, (unsigned)i);

		m->node[i].number = number_of(node);
		if (hwloc_bitmap_isset(allowed, node->os_index))
			m->node[i].memory = node->attr->numanode.local_memory;
	}
	qsort(m->node, m->nodes, sizeof(*m->node), by_number);
	if (m->here && m->nodes == 1 && !m->node[0].memory && !node_memory_read(THIS_MACHINE, m->node[0].number, &whole))
		m->node[0].memory = whole.total; /* hwloc asks /sys alone, and that may be hidden */
	return 0;
}

/*
 * The CPUs of a node. hwloc lends memory-only nodes the CPUs that are nearest to them, so that a CPU seems to have several nodes;
 * the kernel's own list is asked first.
 */
static hwloc_bitmap_t cpus_of(const struct machine *m, hwloc_obj_t node)
{
	hwloc_bitmap_t kernel = NULL;

	if (m->here)
		kernel = sysfs_list(THIS_MACHINE, NODES "/node%d/cpulist", number_of(node));
	return kernel ? kernel : hwloc_bitmap_dup(node->cpuset);
}

/* The smallest node wins that has the CPU, then the one with the lowest number: memory-only ones are numbered last. */
static void read_cpu_nodes(struct machine *m)
{
	int found = hwloc_get_nbobjs_by_type(m->topology, HWLOC_OBJ_NUMANODE);
	int *weight = calloc(m->cpus, sizeof(*weight));

	for (unsigned i = 0; i < m->cpus; i++)
		m->cpu[i].node = m->node[0].number;
	for (int n = 0; n < found && weight; n++) {
		hwloc_obj_t node = hwloc_get_obj_by_type(m->topology, HWLOC_OBJ_NUMANODE, (unsigned)n);
		hwloc_bitmap_t cpus = cpus_of(m, node);
		int size = hwloc_bitmap_weight(cpus), number = number_of(node);

		for (unsigned i = 0; i < m->cpus; i++) {
			struct cpu *cpu = &m->cpu[i];

			if (!hwloc_bitmap_isset(cpus, (unsigned)cpu->number))
				continue;
			if (weight[i] && (weight[i] < size || (weight[i] == size && cpu->node < number)))
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
	hwloc_bitmap_t usable = hwloc_bitmap_dup(hwloc_topology_get_allowed_cpuset(m->topology)), mine = hwloc_bitmap_alloc();

	if (m->here && usable && mine && !hwloc_get_cpubind(m->topology, mine, HWLOC_CPUBIND_THREAD))
		hwloc_bitmap_and(usable, usable, mine);
	hwloc_bitmap_free(mine);
	return usable;
}

static int read_cpus(struct machine *m, const char **error)
{
	int found = hwloc_get_nbobjs_by_type(m->topology, HWLOC_OBJ_PU);
	hwloc_obj_t last_core = NULL;
	hwloc_bitmap_t usable = usable_cpus(m);

	m->cpu = calloc(found > 0 ? (size_t)found : 1, sizeof(*m->cpu));
	if (!m->cpu || !usable) {
		hwloc_bitmap_free(usable);
		return say(error, "out of memory");
	}
	for (int i = 0; i < found; i++) {
		hwloc_obj_t pu = hwloc_get_obj_by_type(m->topology, HWLOC_OBJ_PU, (unsigned)i);
		hwloc_obj_t core = hwloc_get_ancestor_obj_by_type(m->topology, HWLOC_OBJ_CORE, pu);
		hwloc_obj_t package = hwloc_get_ancestor_obj_by_type(m->topology, HWLOC_OBJ_PACKAGE, pu);
		struct cpu *cpu = &m->cpu[m->cpus];

		if (!hwloc_bitmap_isset(usable, pu->os_index))
			continue;
		core = core ? core : pu;
		cpu->number = (int)pu->os_index;
		cpu->package = package ? number_of(package) : 0;
		cpu->sibling = core == last_core ? cpu[-1].sibling + 1 : 0;
		cpu->core = cpu->sibling ? m->cores - 1 : m->cores++;
		last_core = core;
		m->cpus++;
		/* How many cores of ours are below each object: spread_rank() counts with it. */
		for (hwloc_obj_t o = pu; o && !cpu->sibling; o = o->parent)
			o->userdata = (void *)((uintptr_t)o->userdata + 1);
	}
	hwloc_bitmap_free(usable);
	return m->cpus ? 0 : say(error, "%s has no CPU that this process may use", m->name);
}

static void count_cpus(struct machine *m)
{
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

	for (hwloc_obj_type_t type = HWLOC_OBJ_L1CACHE; line <= 0 && type <= HWLOC_OBJ_L5CACHE; type++) {
		hwloc_obj_t cache = hwloc_get_obj_by_type(m->topology, type, 0);

		line = cache ? (long)cache->attr->cache.linesize : 0;
	}
	return line > 0 ? (size_t)line : 64; /* guests and simulators may say nothing; the header says so */
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

const struct cpu *machine_cpu(const struct machine *m, int number)
{
	for (unsigned i = 0; i < m->cpus; i++)
		if (m->cpu[i].number == number)
			return &m->cpu[i];
	return NULL;
}

const char *const level_names[LEVELS] = { [SAME_CPU] = "CPU",	 [SAME_CORE] = "SMT",	      [SAME_L2] = "L2",		 [SAME_L3] = "L3",
					  [SAME_NODE] = "node", [SAME_PACKAGE] = "package", [SAME_MACHINE] = "machine" };

static bool share_cache(const struct machine *m, hwloc_obj_type_t type, int cpu, int other)
{
	hwloc_obj_t a = hwloc_get_pu_obj_by_os_index(m->topology, (unsigned)cpu), cache = a ? hwloc_get_ancestor_obj_by_type(m->topology, type, a) : NULL;

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

/* The i-th node with CPUs. */
static const struct node *cpu_node(const struct machine *m, unsigned i)
{
	for (unsigned n = 0; n < m->nodes; n++)
		if (m->node[n].cores && !i--)
			return &m->node[n];
	return NULL;
}

/* Orders of CPUs: threads are put on them one after the other. */

struct order {
	unsigned n;
	const struct cpu **cpu; /* as many as the machine has */
};

static void take(struct order *order, const struct cpu *cpu)
{
	order->cpu[order->n++] = cpu;
}

/* All cores before any sibling; node ANY: all of them. */
#define ANY (-1)
static void order_close(const struct machine *m, int node, struct order *order)
{
	unsigned missing = 0;

	for (unsigned i = 0; i < m->cpus; i++)
		missing += node == ANY || m->cpu[i].node == node;
	for (unsigned sibling = 0; missing; sibling++)
		for (unsigned i = 0; i < m->cpus; i++)
			if (m->cpu[i].sibling == sibling && (node == ANY || m->cpu[i].node == node)) {
				take(order, &m->cpu[i]);
				missing--;
			}
}

/*
 * The turn of a core (0: the first) when at each fork of the tree - packages, nodes, caches - the branches take turns. A branch
 * with fewer cores drops out when it has none left. From the core upwards, its turn in the parent is the number of cores served
 * before it.
 */
static unsigned spread_rank(hwloc_obj_t object)
{
	unsigned rank = 0;

	for (hwloc_obj_t parent = object->parent; parent; object = parent, parent = object->parent) {
		unsigned before = 0;

		for (unsigned i = 0; i < parent->arity; i++) {
			unsigned cores = (unsigned)(uintptr_t)parent->children[i]->userdata;
			unsigned turns = rank + (i < object->sibling_rank);

			before += cores < turns ? cores : turns;
		}
		rank = before;
	}
	return rank;
}

static void order_spread(const struct machine *m, struct order *order)
{
	for (unsigned i = 0; i < m->cpus; i++)
		if (m->cpu[i].sibling == 0)
			order->cpu[spread_rank(hwloc_get_pu_obj_by_os_index(m->topology, (unsigned)m->cpu[i].number))] = &m->cpu[i];
	order->n = m->cores;
	for (unsigned sibling = 1; order->n < m->cpus; sibling++)
		for (unsigned core = 0; core < m->cores; core++) {
			const struct cpu *cpu = order->cpu[core] + sibling; /* siblings are neighbours */

			assert(order->cpu[core]); /* each had its turn */
			if (cpu < m->cpu + m->cpus && cpu->core == order->cpu[core]->core)
				take(order, cpu);
		}
}

static int take_number(const struct machine *m, const char *list, unsigned number, struct order *order, const char **why)
{
	const struct cpu *cpu = machine_cpu(m, (int)number);
	char numbers[NUMBERS];

	if (!cpu)
		return say(why, "CPU %u of \"%.100s\" is not there, or this process may not use it; usable: %s", number, list,
			   cpu_list(m, ANY, numbers));
	for (unsigned i = 0; i < order->n; i++)
		if (order->cpu[i] == cpu)
			return misunderstood(say(why, "CPU %u is twice in \"%.100s\"; expected each once (" MORE ")", number, list));
	take(order, cpu);
	return 0;
}

static int order_list(const struct machine *m, const char *list, struct order *order, const char **why)
{
	const char *at = list;
	char numbers[NUMBERS];

	for (;; at++) {
		unsigned first, last, step = 1;

		if (!number_at(&at, INT_MAX, &first))
			break;
		last = first;
		if (*at == '-' && (at++, !number_at(&at, INT_MAX, &last)))
			break;
		if (*at == ':' && (at++, !number_at(&at, INT_MAX, &step) || !step))
			break;
		if (last < first)
			break;
		for (uint64_t number = first; number <= last; number += step)
			if (take_number(m, list, (unsigned)number, order, why))
				return -1;
		if (!*at)
			return 0;
		if (*at != ',')
			break;
	}
	return misunderstood(say(why, "can't bind to \"%.100s\"; expected close, spread, or a list of CPUs such as \"0,2-5\" (usable: %s)", list,
		   cpu_list(m, ANY, numbers)));
}

static struct place place_of(const struct cpu *cpu)
{
	assert(cpu);
	return (struct place){ .cpu = cpu->number, .node = cpu->node };
}

int machine_bind(const struct machine *m, const char *bind, unsigned n, bool oversubscribe, struct place *place, const char **why)
{
	struct order order = { 0, calloc(m->cpus, sizeof(*order.cpu)) };
	int status = 0;

	if (!order.cpu)
		return say(why, "out of memory");
	if (!strcmp(bind, "close"))
		order_close(m, ANY, &order);
	else if (!strcmp(bind, "spread"))
		order_spread(m, &order);
	else
		status = order_list(m, bind, &order, why);
	if (!status && n > order.n && !oversubscribe)
		status = say(why, "%u threads don't fit on %s (bind: %.100s); expected fewer (" MORE ")", n,
			     count_text(order.n, "CPU").of, bind);
	for (unsigned i = 0; !status && i < n; i++)
		place[i] = place_of(order.cpu[i % order.n]);
	free(order.cpu);
	return status;
}

/* Layouts. */

/* Numbers joined by "+", at most `most` of them (count may be NULL). Returns how many, 0 when it is something else. */
static unsigned read_layout(const char *layout, unsigned *count, unsigned most)
{
	for (unsigned n = 0, threads; n < most && number_at(&layout, MOST_THREADS, &threads); layout++) {
		if (count)
			count[n] = threads;
		n++;
		if (!*layout)
			return n;
		if (*layout != '+')
			return 0;
	}
	return 0;
}

unsigned layout_threads(const char *layout)
{
	unsigned sum = 0;

	if (!read_layout(layout, NULL, UINT_MAX))
		return 0;
	for (const char *at = layout; at; at = strchr(at, '+')) {
		at += *at == '+';
		sum += (unsigned)strtoul(at, NULL, 10);
	}
	return sum;
}

/* Threads on one node: its cores in the machine's order, then their siblings. */
static int lay(const struct machine *m, const char *layout, const struct node *node, unsigned n, bool oversubscribe,
	       struct order *order, struct place *place, const char **why)
{
	if (n > node->cpus && !oversubscribe)
		return say(why, "layout %.100s asks for %u threads on node %d, which has %s; expected fewer (" MORE ")", layout, n,
			   node->number, count_text(node->cpus, "CPU").of);
	order->n = 0;
	order_close(m, node->number, order);
	assert(order->n); /* nodes of layouts have CPUs */
	for (unsigned i = 0; i < n; i++)
		place[i] = place_of(order->cpu[i % order->n]);
	return 0;
}

int machine_layout(const struct machine *m, const char *layout, bool oversubscribe, struct place *place, const char **why)
{
	unsigned nodes = machine_cpu_nodes(m);
	unsigned *count = calloc(nodes, sizeof(*count));
	struct order order = { 0, calloc(m->cpus, sizeof(*order.cpu)) };
	char numbers[NUMBERS];
	int status = 0;

	if (!count || !order.cpu)
		status = say(why, "out of memory");
	else if (read_layout(layout, count, nodes) != nodes || !layout_threads(layout))
		status = say(
			why,
			"layout %.100s is not one of this machine; expected threads on each of its nodes with CPUs (%s), as \"%s\"",
			layout, cpu_node_list(m, numbers), nodes == 1 ? "2" : "2+0");
	for (unsigned i = 0; !status && i < nodes; place += count[i], i++)
		status = lay(m, layout, cpu_node(m, i), count[i], oversubscribe, &order, place, why);
	free(count);
	free(order.cpu);
	return status;
}

static int expand_node(const struct machine *m, const char *word, unsigned threads, unsigned *count, const char **why)
{
	char numbers[NUMBERS];
	const char *at = word + strlen("node:");
	unsigned number;
	bool known = number_at(&at, INT_MAX, &number) && !*at && machine_node(m, (int)number);

	for (unsigned i = 0; known && i < machine_cpu_nodes(m); i++)
		if (cpu_node(m, i)->number == (int)number) {
			count[i] = threads;
			return 0;
		}
	return say(why, "layout %.100s: %s; nodes with CPUs: %s", word,
		   known ? "that node has no CPUs that this process may use" : "there is no such node", cpu_node_list(m, numbers));
}

static int expand_numbers(const struct machine *m, const char *word, unsigned *count, const char **why)
{
	unsigned nodes = machine_cpu_nodes(m), given = read_layout(word, NULL, UINT_MAX);
	char numbers[NUMBERS];

	if (!given)
		return misunderstood(say(
			why, "\"%.100s\" is not a layout; expected packed, split, all, each, node:N, or threads on each node (8+8)", word));
	if (given != nodes && given != 1)
		return say(why, "layout %.100s has %u numbers; expected one for each node with CPUs (%s)", word, given,
			   cpu_node_list(m, numbers));
	if (!layout_threads(word))
		return misunderstood(say(why, "layout %.100s has no thread; expected at least one", word));
	read_layout(word, count, nodes);
	return 0;
}

static unsigned sum_of(const unsigned *count, unsigned nodes)
{
	unsigned sum = 0;

	for (unsigned i = 0; i < nodes; i++)
		sum += count[i];
	return sum;
}

/* Fills the rows of `count`, one a layout, a number for each node. */
static int expand(const struct machine *m, const char *word, unsigned threads, unsigned nodes, unsigned *count, const char **why)
{
	unsigned each = threads ? threads : cpu_node(m, 0)->cores, sum;

	if (!strcmp(word, "packed")) {
		count[0] = each;
	} else if (!strcmp(word, "split")) {
		for (unsigned i = 0; i < nodes; i++)
			count[i] = each / nodes + (i < each % nodes);
	} else if (!strcmp(word, "each")) {
		for (unsigned i = 0; i < nodes; i++)
			count[i * nodes + i] = each;
	} else if (!strncmp(word, "node:", strlen("node:"))) {
		return expand_node(m, word, each, count, why);
	} else if (!strcmp(word, "all")) {
		for (unsigned i = 0; i < nodes; i++)
			count[i] = cpu_node(m, i)->cores;
	} else if (expand_numbers(m, word, count, why)) {
		return -1;
	}
	sum = sum_of(count, nodes);
	if (strcmp(word, "each") && threads && threads != sum)
		return misunderstood(say(why, "layout %.100s has %s, not the %u asked for; give one of the two", word,
					 count_text(sum, "thread").of, threads));
	return 0;
}

/* One block: the pointers, then what they point to. */
static char **write_layouts(const unsigned *count, unsigned layouts, unsigned nodes)
{
	size_t most = nodes * sizeof("4294967295+");
	char **list = malloc(layouts * (sizeof(*list) + most)), *at;

	if (!list)
		return NULL;
	at = (char *)(list + layouts);
	for (unsigned l = 0; l < layouts; l++, at++) {
		list[l] = at;
		for (unsigned i = 0; i < nodes; i++)
			at += sprintf(at, i ? "+%u" : "%u", count[l * nodes + i]);
	}
	return list;
}

char **machine_layouts(const struct machine *m, const char *word, unsigned threads, unsigned *n, const char **why)
{
	unsigned nodes = machine_cpu_nodes(m), layouts = strcmp(word, "each") ? 1 : nodes;
	unsigned *count = calloc((size_t)layouts * nodes, sizeof(*count));
	char **list = NULL;

	assert(nodes);
	if (threads > MOST_THREADS)
		explain(why, "%u threads are too many; at most %u are possible", threads, MOST_THREADS);
	else if (!count || (!expand(m, word, threads, nodes, count, why) && !(list = write_layouts(count, layouts, nodes))))
		explain(why, "out of memory");
	free(count);
	*n = list ? layouts : 0;
	return list;
}

/* For people. */

static struct text size_text(uint64_t bytes)
{
	static const char *const unit[] = { "B", "KiB", "MiB", "GiB", "TiB", "PiB" };
	double value = (double)bytes;
	unsigned u = 0;
	struct text t;

	for (; value >= 1024 && u < sizeof(unit) / sizeof(*unit) - 1; u++)
		value /= 1024;
	snprintf(t.of, sizeof(t.of), "%.4g %s", value, unit[u]);
	return t;
}

/* Threads a core: "1", or "1-2" where cores differ. */
static struct text smt_text(const struct machine *m)
{
	unsigned least = UINT_MAX, most = 0;
	struct text t;

	for (unsigned i = 0; i < m->cpus; i++) {
		unsigned threads = m->cpu[i].sibling + 1;

		if (i + 1 < m->cpus && m->cpu[i + 1].sibling)
			continue;
		least = threads < least ? threads : least;
		most = threads > most ? threads : most;
	}
	snprintf(t.of, sizeof(t.of), least == most ? "%u" : "%u-%u", least, most);
	return t;
}

static void print_summary(const struct machine *m, FILE *out)
{
	int packages = hwloc_get_nbobjs_by_type(m->topology, HWLOC_OBJ_PACKAGE);
	int there = hwloc_get_nbobjs_by_type(m->topology, HWLOC_OBJ_PU);
	const char *model = hwloc_obj_get_info_by_name(hwloc_get_root_obj(m->topology), "CPUModel");
	hwloc_obj_t package = hwloc_get_obj_by_type(m->topology, HWLOC_OBJ_PACKAGE, 0);
	char numbers[NUMBERS];

	if (!model && package)
		model = hwloc_obj_get_info_by_name(package, "CPUModel");
	fprintf(out, "%s%s%s\n", m->name, model ? ": " : "", model ? model : "");
	fprintf(out, "%s, ", count_text(packages > 0 ? (unsigned)packages : 1, "package").of);
	fprintf(out, "%s, ", count_text(m->nodes, "node").of);
	fprintf(out, "%s, ", count_text(m->cores, "core").of);
	fprintf(out, "%s (%s a core)\n", count_text(m->cpus, "CPU").of, smt_text(m).of);
	if ((unsigned)there > m->cpus)
		fprintf(out, "this process may use only CPUs %s of %d\n", cpu_list(m, ANY, numbers), there);
}

static int package_of(const struct machine *m, int node)
{
	for (unsigned i = 0; i < m->cpus; i++)
		if (m->cpu[i].node == node)
			return m->cpu[i].package;
	return -1;
}

static void print_nodes(const struct machine *m, FILE *out)
{
	bool all_ours = hwloc_get_nbobjs_by_type(m->topology, HWLOC_OBJ_PU) == (int)m->cpus;
	char numbers[NUMBERS];

	fprintf(out, "\n%4s  %7s  %10s  %5s  %s\n", "node", "package", "memory", "cores", "CPUs");
	for (unsigned i = 0; i < m->nodes; i++) {
		const struct node *n = &m->node[i];

		fprintf(out, "%4d  ", n->number);
		if (n->cpus)
			fprintf(out, "%7d  %10s  %5u  %s\n", package_of(m, n->number), size_text(n->memory).of, n->cores,
				cpu_list(m, n->number, numbers));
		else
			fprintf(out, "%7s  %10s  %5s  %s\n", "-", size_text(n->memory).of, "-",
				all_ours ? "none: memory only" : "none that this process may use");
	}
}

/* Caches of a type that are alike make a line: where cores differ, theirs do. */
static bool alike(hwloc_obj_t a, hwloc_obj_t b)
{
	return a->attr->cache.size == b->attr->cache.size && hwloc_bitmap_weight(a->cpuset) == hwloc_bitmap_weight(b->cpuset);
}

static void print_caches(const struct machine *m, FILE *out)
{
	const char *heading = "\ncache       size   line   ways  count  shared by\n";

	for (hwloc_obj_type_t type = HWLOC_OBJ_L1CACHE; type <= HWLOC_OBJ_L3ICACHE; type++)
		for (hwloc_obj_t c = NULL; (c = hwloc_get_next_obj_by_type(m->topology, type, c));) {
			unsigned before = 0, count = 0;
			char name[16], line[16], ways[16];

			for (hwloc_obj_t o = NULL; (o = hwloc_get_next_obj_by_type(m->topology, type, o));) {
				before += alike(c, o) && o->logical_index < c->logical_index;
				count += alike(c, o);
			}
			if (before)
				continue;
			hwloc_obj_type_snprintf(name, sizeof(name), c, 0);
			snprintf(line, sizeof(line), c->attr->cache.linesize ? "%u" : "-", c->attr->cache.linesize);
			snprintf(ways, sizeof(ways), c->attr->cache.associativity > 0 ? "%d" : "-", c->attr->cache.associativity);
			fprintf(out, "%s%-5s  %9s  %5s  ", heading, name, c->attr->cache.size ? size_text(c->attr->cache.size).of : "-", line);
			fprintf(out, "%5s  %5u  %s\n", ways, count, count_text((unsigned)hwloc_bitmap_weight(c->cpuset), "CPU").of);
			heading = "";
		}
}

static void print_tlbs(FILE *out)
{
	struct tlb tlbs[MOST_TLBS];
	const char *why;
	unsigned n = tlb_read(tlbs, &why);

	fprintf(out, "\n");
	if (n)
		tlb_print(tlbs, n, out);
	else
		fprintf(out, "TLBs: unknown (%s)\n", why);
}

static void print_distances(const struct machine *m, FILE *out)
{
	struct hwloc_distances_s *d;
	unsigned n = 1;

	if (m->nodes < 2 || hwloc_distances_get_by_name(m->topology, "NUMALatency", &n, &d, 0) || !n)
		return;
	fprintf(out, "\ndistance");
	for (unsigned i = 0; i < d->nbobjs; i++)
		fprintf(out, " %4d", number_of(d->objs[i]));
	for (unsigned i = 0; i < d->nbobjs; i++) {
		fprintf(out, "\n%8d", number_of(d->objs[i]));
		for (unsigned j = 0; j < d->nbobjs; j++)
			fprintf(out, " %4llu", (unsigned long long)d->values[i * d->nbobjs + j]);
	}
	fprintf(out, "\n");
	hwloc_distances_release(m->topology, d);
}

static void print_reserved(FILE *out)
{
	glob_t found = { 0 };

	if (glob("/sys/kernel/mm/hugepages/hugepages-*kB", 0, NULL, &found))
		return;
	for (size_t i = 0; i < found.gl_pathc; i++) {
		const char *path = found.gl_pathv[i];
		uint64_t kib, total, unused;

		kib = strtoull(strrchr(path, '-') + 1, NULL, 10);
		if (sysfs_number(THIS_MACHINE, &total, "%s/nr_hugepages", path) ||
		    sysfs_number(THIS_MACHINE, &unused, "%s/free_hugepages", path))
			continue;
		fprintf(out, "; %s reserved: %llu, free: %llu", size_text(kib * 1024).of, (unsigned long long)total,
			(unsigned long long)unused);
	}
	globfree(&found);
}

static void print_pages(const struct machine *m, FILE *out)
{
	fprintf(out, "\npages: %s", size_text(m->page).of);
	fprintf(out, "; transparent huge: %s", m->huge_page ? size_text(m->huge_page).of : "none");
	print_reserved(out);
	fprintf(out, "\n");
}

void topology_print(const struct machine *m, FILE *out)
{
	print_summary(m, out);
	print_nodes(m, out);
	print_caches(m, out);
	if (m->here)
		print_tlbs(out);
	print_distances(m, out);
	if (m->here)
		print_pages(m, out);
}
