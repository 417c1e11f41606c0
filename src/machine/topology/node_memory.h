/* SPDX-License-Identifier: Apache-2.0 */
/* How much memory a NUMA node has, and how much can be taken. Read anew at each call. */
#ifndef LOCUS_NODE_MEMORY_H
#define LOCUS_NODE_MEMORY_H

#include <stdint.h>

#define ALL_NODES (-1)

/*
 * Of one node, in bytes; `root` as in base/sysfs.h. With a single node it is the machine's
 * (/proc/meminfo): a guest's node may show a balloon's size. -1 with errno: ENOENT there is no such
 * node, ENODATA it doesn't say.
 */
struct node_memory {
	uint64_t total, free;
	/*
	 * What first touch gets before it falls to another node: free pages above the zones' low
	 * watermarks and reserves (/proc/zoneinfo), without cached files, which the kernel keeps as
	 * long as another node has free pages (unless vm.zone_reclaim_mode says otherwise).
	 */
	uint64_t spare;
	/*
	 * What a policy that allows no other node gets: spare, and the pages of cached files, which
	 * are dropped for it.
	 */
	uint64_t available;
};
int node_memory_read(const char *root, int node, struct node_memory *);

#endif
