/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the lowest limit of memory that applies. */
#include "machine/limits/limits.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arithmetic.h"
#include "base/sysfs.h"
#include "base/text.h"
#include "machine/topology/topology.h"

#define NODES "/sys/devices/system/node"

uint64_t memory_overhead(uint64_t bytes)
{
	return bytes / 256 + (4 << 20);
}

/*
 * Restricts `nodes` to the nodes that a limit allows; if that removes any, *by becomes the limit's
 * name. Frees `allowed`.
 */
static void restrict_to(hwloc_bitmap_t nodes, hwloc_bitmap_t allowed, const char **by,
			const char *limit)
{
	if (allowed && !hwloc_bitmap_isincluded(nodes, allowed)) {
		hwloc_bitmap_and(nodes, nodes, allowed);
		*by = limit;
	}
	hwloc_bitmap_free(allowed);
}

/* A cpuset, or a binding policy (numactl --membind), may allow only some of the nodes. */
static void consider_nodes(const char *root, unsigned sharers, struct memory_limit *l)
{
	char *status = sysfs_text(root, "/proc/self/status"),
	     *cpuset = field_text(status, "Mems_allowed_list"), *list = NULL;
	hwloc_bitmap_t nodes = sysfs_list(root, NODES "/has_memory");
	struct memory_policy policy;
	const char *by = NULL, *several;
	struct node_memory m;
	char words[300];
	uint64_t sum = 0;
	bool known = false;
	int node;

	memory_policy_read(root, &policy);
	snprintf(words, sizeof(words), "memory policy %s", policy.text);
	if (nodes && cpuset)
		restrict_to(nodes, number_list_parse(cpuset), &by, "cpuset");
	if (nodes && policy.kind == MEMORY_POLICY_BOUND)
		restrict_to(nodes, memory_policy_nodes(&policy), &by, words);
	if (!by || hwloc_bitmap_list_asprintf(&list, nodes) < 0)
		goto out;
	for (node = hwloc_bitmap_first(nodes); node >= 0; node = hwloc_bitmap_next(nodes, node)) {
		if (node_memory_read(root, node, &m))
			continue;
		sum += m.available;
		known = true;
	}
	several = strpbrk(list, ",-") ? "s" : "";
	if (known)
		limit_consider(
			l, sharers, sum,
			"the memory available on node%s %s, the only one%s that the %s allows",
			several, list, several, by);
out:
	hwloc_bitmap_free(nodes);
	free(list);
	free(cpuset);
	free(status);
}

static void consider_commit(const char *root, unsigned sharers, struct memory_limit *l)
{
	uint64_t mode = 0, limit, committed;
	char *meminfo, text[TEXT_BYTES];

	if (sysfs_number(root, &mode, "/proc/sys/vm/overcommit_memory") || mode != 2)
		return;
	meminfo = sysfs_text(root, "/proc/meminfo");
	if (field_number(meminfo, "CommitLimit", &limit) &&
	    field_number(meminfo, "Committed_AS", &committed))
		limit_consider(l, sharers, saturating_sub(limit, committed),
			       "CommitLimit %s (vm.overcommit_memory is 2), less what is committed",
			       text_bytes(text, limit));
	free(meminfo);
}

/* Each process has its own limits. */
static void consider_ulimits(const char *root, struct memory_limit *l)
{
	static const struct {
		const char *limit, *used, *name;
	} rows[] = {
		{ "Max address space", "VmSize", "ulimit -v" },
		{ "Max data size", "VmData", "ulimit -d" },
	};
	char *limits = sysfs_text(root, "/proc/self/limits"),
	     *status = sysfs_text(root, "/proc/self/status");
	char word[24], text[TEXT_BYTES];

	for (unsigned i = 0; i < LENGTH(rows); i++) {
		const char *soft = field_find(limits, rows[i].limit);
		uint64_t limit, used = 0;

		if (!soft || sscanf(soft, "%23s", word) != 1 || number_parse(word, &limit) ||
		    limit == NO_LIMIT)
			continue;
		field_number(status, rows[i].used, &used);
		limit_consider(l, 1, saturating_sub(limit, used), "%s %s, less what is mapped",
			       rows[i].name, text_bytes(text, limit));
	}
	free(limits);
	free(status);
}

void memory_limit_read_part(const char *root, const struct limit_sharers *sharers,
			    struct memory_limit *l)
{
	struct node_memory m;

	limit_begin(l);
	if (!node_memory_read(root, ALL_NODES, &m))
		limit_consider(l, sharers->host, m.available,
			       "the memory available on this machine (MemAvailable)");
	consider_nodes(root, sharers->host, l);
	cgroup_limit_memory(root, sharers, l);
	consider_commit(root, sharers->host, l);
	consider_ulimits(root, l);
}

void memory_limit_read(const char *root, struct memory_limit *l)
{
	const struct limit_sharers alone = { .host = 1 };

	memory_limit_read_part(root, &alone, l);
}
