/* SPDX-License-Identifier: Apache-2.0 */
/* The nodes whose memory may be used, and where first touch places pages. */
#include "machine/topology/topology.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <hwloc.h>
#include <hwloc/distances.h>

#include "base/numbers.h"
#include "base/sysfs.h"
#include "machine/topology/load.h"

/* --- the policy --- */

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
 * The first mapping is the program's, which has no policy of its own, so it shows the process's
 * policy. Unlike get_mempolicy() the file is allowed in containers. Only the first line is read,
 * since the kernel counts the pages of a mapping for each line.
 */
void memory_policy_read(const char *root, struct memory_policy *p)
{
	char path[PATH_MAX], line[1024] = "";
	FILE *maps;

	*p = (struct memory_policy){ .kind = MEMORY_POLICY_FIRST_TOUCH };
	snprintf(path, sizeof(path), "%s/proc/self/numa_maps", root);
	maps = fopen(path, "re");
	if (!maps)
		return;
	if (!fgets(line, sizeof(line), maps))
		errno = ENODATA;
	fclose(maps);
	take_policy(line, p->text, sizeof(p->text));
	if (!strncmp(p->text, "bind", 4))
		p->kind = MEMORY_POLICY_BOUND;
	else if (strchr(p->text, ':'))
		p->kind = MEMORY_POLICY_STEERED;
}

hwloc_bitmap_t memory_policy_nodes(const struct memory_policy *p)
{
	const char *list = strrchr(p->text, ':');

	return list ? number_list_parse(list + 1) : NULL;
}

/* --- usable memory --- */

const char *node_lack(const struct machine *m, const struct node *node, char text[NODE_TEXT])
{
	if (node->lack == NODE_EMPTY)
		return "which has no memory";
	snprintf(text, NODE_TEXT, "which has no memory that this process may use (%s%s)",
		 node->lack == NODE_NOT_IN_POLICY ? "memory policy " : "cpuset",
		 node->lack == NODE_NOT_IN_POLICY ? m->policy.text : "");
	return text;
}

static void leave_out(struct machine *m)
{
	hwloc_bitmap_t allowed =
		m->policy.kind == MEMORY_POLICY_BOUND ? memory_policy_nodes(&m->policy) : NULL;

	for (unsigned i = 0; allowed && i < m->nodes; i++) {
		struct node *node = &m->node[i];

		if (!node->memory || hwloc_bitmap_isset(allowed, (unsigned)node->number))
			continue;
		node->memory = 0;
		node->lack = NODE_NOT_IN_POLICY;
	}
	hwloc_bitmap_free(allowed);
}

/*
 * Touches a page from a CPU of the node, and returns the node on which it lies; -1: the kernel does
 * not tell. Restores the thread's CPUs.
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

/* The nearest node with memory, with the lowest number of equally near ones. */
static int nearest_with_memory(const struct machine *m, int from)
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

void nodes_find_memory(struct machine *m)
{
	if (m->running) {
		memory_policy_read(SYSFS_ROOT, &m->policy);
		leave_out(m);
	}
	for (unsigned i = 0; i < m->nodes; i++) {
		struct node *node = &m->node[i];
		int touched = -1;

		node->first_touch = node->number;
		if (machine_has_memory(m, node))
			continue;
		if (m->running && node->cpus)
			touched = touch_from(m, node);
		node->first_touch = touched >= 0 ? touched : nearest_with_memory(m, node->number);
	}
}
