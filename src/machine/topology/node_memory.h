/* SPDX-License-Identifier: Apache-2.0 */
/* How much memory a NUMA node has, and how much is available. Read anew at each call. */
#ifndef LOCUS_NODE_MEMORY_H
#define LOCUS_NODE_MEMORY_H

#include <stdint.h>

#define ALL_NODES (-1)

/*
 * The memory of one node, in bytes; `root` as in base/sysfs.h. On a machine with one node it is the
 * machine's (/proc/meminfo): a guest's node may include a balloon, or only the memory that its host
 * has provided until now. -1 with errno; ENOENT: no such node, ENODATA: the file does not tell.
 */
struct node_memory {
	uint64_t total, free;
	/*
	 * What first touch can use before it falls back to another node: free pages above the
	 * zones' low watermarks and reserves (/proc/zoneinfo). Without the page cache, which the
	 * kernel keeps as long as another node has free pages (unless vm.zone_reclaim_mode is set).
	 */
	uint64_t spare;
	/* What a binding policy can use: spare, and the page cache, which is dropped for it. */
	uint64_t available;
};
int node_memory_read(const char *root, int node, struct node_memory *);

#endif
