/* SPDX-License-Identifier: Apache-2.0 */
/* How much memory a node has, and how much is available. */
#include "machine/topology/topology.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <hwloc.h>

#include "base/arithmetic.h"
#include "base/sysfs.h"

#define NODES "/sys/devices/system/node"

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
 * The largest number in a zone's "(0, 1943, 3927, 3927)": pages reserved for requests that can use
 * no higher zone.
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
 * Sums each zone's free pages above its low watermark and reserve. False: /proc/zoneinfo has no
 * such node.
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
			     "protection:", 11)) { /* follows "free" and "low" */
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
			&m->available)) /* missing before 3.14, and in nodes' files */
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
