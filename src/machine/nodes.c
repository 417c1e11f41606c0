/* SPDX-License-Identifier: Apache-2.0 */
#include "machine/nodes.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <hwloc/distances.h>

#include "base/arithmetic.h"
#include "base/fields.h"
#include "base/numbers.h"
#include "base/sysfs.h"
#include "machine/topology.h"

#define NODES "/sys/devices/system/node"

/* ---- how much there is ---- */

static bool several_nodes(const char *root)
{
	hwloc_bitmap_t online = sysfs_list(root, NODES "/online");
	bool several = online && hwloc_bitmap_weight(online) > 1;

	hwloc_bitmap_free(online);
	return several;
}

/* Keys of a node's file carry its number: "Node 1 MemFree: 17 kB". */
static bool node_number(const char *text, const char *prefix, const char *key, uint64_t *value)
{
	char name[64];

	snprintf(name, sizeof(name), "%s%s", prefix, key);
	return field_number(text, name, value);
}

/*
 * The largest number of "(0, 1943, 3927, 3927)": pages kept for requests that can use no higher
 * zone.
 */
static uint64_t largest_of(const char *list)
{
	uint64_t largest = 0;

	for (list = strchr(list, '('); list && *list && *list != ')';
	     list = strpbrk(list + 1, ",)")) {
		uint64_t number = strtoull(list + 1, NULL, 10);

		largest = number > largest ? number : largest;
	}
	return largest;
}

/*
 * Sums over the node's zones what each has above its low watermark and reserve. False:
 * /proc/zoneinfo has no such node.
 */
static bool spare_pages(const char *root, int node, uint64_t *pages)
{
	char *text = sysfs_text(root, "/proc/zoneinfo"), *rest = text, *line;
	uint64_t unused = 0, low = 0;
	bool found = false, ours = false;
	int number;

	*pages = 0;
	while (rest && (line = strsep(&rest, "\n"))) {
		if (sscanf(line, "Node %d, zone", &number) == 1) {
			ours = number == node;
			unused = low = 0;
		}
		if (!ours || sscanf(line, " pages free %" SCNu64, &unused) == 1 ||
		    sscanf(line, " low %" SCNu64, &low) == 1)
			continue;
		if (!strncmp(line + strspn(line, " "),
			     "protection:", 11)) { /* it comes after both */
			*pages += saturating_sub(unused, low + largest_of(line));
			found = true;
		}
	}
	free(text);
	return found;
}

static int read_meminfo(const char *text, const char *prefix, struct node_memory *m)
{
	static const char *const droppable[] = { "Active(file)", "Inactive(file)" };
	uint64_t bytes;

	if (!node_number(text, prefix, "MemTotal", &m->total) ||
	    !node_number(text, prefix, "MemFree", &m->free)) {
		errno = ENODATA;
		return -1;
	}
	m->spare = m->free;
	if (node_number(text, prefix, "MemAvailable",
			&m->available)) /* kernels before 3.14, and nodes, don't say */
		return 0;
	m->available = 0;
	for (unsigned i = 0; i < 2; i++)
		if (node_number(text, prefix, droppable[i], &bytes))
			m->available += bytes;
	m->available = smaller(m->free + m->available, m->total);
	return 0;
}

static int machine_memory_read(const char *root, struct node_memory *m)
{
	char *text = sysfs_text(root, "/proc/meminfo");
	int result = text ? read_meminfo(text, "", m) : -1;

	free(text);
	return result;
}

int node_memory_read(const char *root, int node, struct node_memory *m)
{
	uint64_t pages, kept, reclaim = 0;
	char *text, prefix[32];
	int result;

	if (node == ALL_NODES)
		return machine_memory_read(root, m);
	if (!several_nodes(root)) {
		if (node && !sysfs_exists(root, NODES "/node%d", node)) {
			errno = ENOENT;
			return -1;
		}
		return machine_memory_read(root, m);
	}
	text = sysfs_text(root, NODES "/node%d/meminfo", node);
	snprintf(prefix, sizeof(prefix), "Node %d ", node);
	result = text ? read_meminfo(text, prefix, m) : -1;
	free(text);
	if (result)
		return -1;
	if (spare_pages(root, node, &pages))
		m->spare = smaller(m->free, pages * (uint64_t)sysconf(_SC_PAGESIZE));
	kept = m->free - m->spare;
	m->available = saturating_sub(m->available, kept);
	if (!sysfs_number(root, &reclaim, "/proc/sys/vm/zone_reclaim_mode") && reclaim)
		m->spare = m->available;
	return 0;
}

/* ---- the policy ---- */

/* "prefer (many):0-1" and "weighted interleave:0-1" are two words. */
static void take_policy(const char *line, char *text, size_t size)
{
	const char *policy = line + strcspn(line, " ");
	size_t length;

	policy += strspn(policy, " ");
	length = strcspn(policy, " \n");
	if (policy[length] == ' ' &&
	    (!strncmp(policy, "prefer ", 7) || !strncmp(policy, "weighted ", 9)))
		length += 1 + strcspn(policy + length + 1, " \n");
	snprintf(text, size, "%.*s", (int)length, policy);
}

/*
 * The first mapping is the program's own and has no policy of its own, so it shows the process's.
 * The file needs no permission that containers take away, as they do with get_mempolicy(). Only the
 * first line is read: each further one counts the pages of a mapping.
 */
void memory_policy_read(const char *root, struct memory_policy *p)
{
	char path[PATH_MAX], line[1024] = "";
	FILE *maps;

	*p = (struct memory_policy){ .kind = FIRST_TOUCH };
	snprintf(path, sizeof(path), "%s/proc/self/numa_maps", root);
	maps = fopen(path, "re");
	if (!maps)
		return;
	if (!fgets(line, sizeof(line), maps))
		errno = ENODATA;
	fclose(maps);
	take_policy(line, p->text, sizeof(p->text));
	if (!strncmp(p->text, "bind", 4))
		p->kind = BOUND;
	else if (strchr(p->text, ':'))
		p->kind = STEERED;
}

hwloc_bitmap_t memory_policy_nodes(const struct memory_policy *p)
{
	const char *list = strrchr(p->text, ':');

	return list ? parse_list(list + 1) : NULL;
}

/* ---- of a machine ---- */

const char *node_lack(const struct machine *m, const struct node *node, char text[NODE_TEXT])
{
	if (node->lack == NO_MEMORY)
		return "which has no memory";
	snprintf(text, NODE_TEXT, "which has no memory that this process may use (%s%s)",
		 node->lack == NOT_IN_POLICY ? "memory policy " : "cpuset",
		 node->lack == NOT_IN_POLICY ? m->policy.text : "");
	return text;
}

static void leave_out(struct machine *m)
{
	hwloc_bitmap_t allowed = m->policy.kind == BOUND ? memory_policy_nodes(&m->policy) : NULL;

	for (unsigned i = 0; allowed && i < m->nodes; i++) {
		struct node *node = &m->node[i];

		if (!node->memory || hwloc_bitmap_isset(allowed, (unsigned)node->number))
			continue;
		node->memory = 0;
		node->lack = NOT_IN_POLICY;
	}
	hwloc_bitmap_free(allowed);
}

/*
 * Where a page lies that a CPU of the node has just touched; -1: the kernel doesn't say. The thread
 * is back on its CPUs after it.
 */
static int touch_from(const struct machine *m, const struct node *node)
{
	hwloc_bitmap_t own = hwloc_bitmap_alloc(), there = hwloc_bitmap_alloc(),
		       found = hwloc_bitmap_alloc();
	volatile char *page =
		mmap(NULL, m->page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int number = -1;

	for (unsigned i = 0; i < m->cpus; i++)
		if (m->cpu[i].node == node->number)
			hwloc_bitmap_set(there, (unsigned)m->cpu[i].number);
	if (page != MAP_FAILED && !hwloc_get_cpubind(m->topology, own, HWLOC_CPUBIND_THREAD) &&
	    !hwloc_set_cpubind(m->topology, there, HWLOC_CPUBIND_THREAD)) {
		*page = 1;
		if (!hwloc_get_area_memlocation(m->topology, (const void *)page, m->page, found,
						HWLOC_MEMBIND_BYNODESET))
			number = hwloc_bitmap_first(found);
		hwloc_set_cpubind(m->topology, own, HWLOC_CPUBIND_THREAD);
	}
	if (page != MAP_FAILED)
		munmap((void *)page, m->page);
	hwloc_bitmap_free(own);
	hwloc_bitmap_free(there);
	hwloc_bitmap_free(found);
	return number;
}

static uint64_t distance(const struct hwloc_distances_s *d, int from, int to)
{
	uint64_t value = UINT64_MAX;

	for (unsigned i = 0; d && i < d->nbobjs; i++)
		for (unsigned j = 0; j < d->nbobjs; j++)
			if ((int)d->objs[i]->os_index == from && (int)d->objs[j]->os_index == to)
				value = d->values[i * d->nbobjs + j];
	return value;
}

/* The nearest node with memory, the first of those that are equally near. */
static int nearest(const struct machine *m, int from)
{
	struct hwloc_distances_s *d = NULL;
	uint64_t shortest = 0;
	unsigned n = 1;
	int found = -1;

	if (hwloc_distances_get_by_name(m->topology, "NUMALatency", &n, &d, 0) || !n)
		d = NULL;
	for (unsigned i = 0; i < m->nodes; i++) {
		uint64_t length = distance(d, from, m->node[i].number);

		if (!machine_has_memory(m, &m->node[i]) || (found >= 0 && length >= shortest))
			continue;
		found = m->node[i].number;
		shortest = length;
	}
	if (d)
		hwloc_distances_release(m->topology, d);
	return found < 0 ? from : found;
}

void nodes_settle(struct machine *m)
{
	if (m->here) {
		memory_policy_read(THIS_MACHINE, &m->policy);
		leave_out(m);
	}
	for (unsigned i = 0; i < m->nodes; i++) {
		struct node *node = &m->node[i];
		int touched = -1;

		node->first_touch = node->number;
		if (machine_has_memory(m, node))
			continue;
		if (m->here && node->cpus)
			touched = touch_from(m, node);
		node->first_touch = touched >= 0 ? touched : nearest(m, node->number);
	}
}
