/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The memory of each NUMA node: how much can be taken, whether this process may take it, and where
 * pages lie that a node's CPUs touch first. Read anew at each call; `root` as in sysfs.h.
 */
#ifndef LOCUS_NODES_H
#define LOCUS_NODES_H

#include <stdbool.h>
#include <stdint.h>
#include <hwloc.h>

struct machine;
struct node;

#define ALL_NODES (-1)

/*
 * Of one node, in bytes. With a single node it is the machine's (/proc/meminfo): a guest's node may
 * show a balloon's size. -1 with errno: ENOENT there is no such node, ENODATA it doesn't say.
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

/*
 * The memory policy that this process inherited: set_mempolicy(2), by numactl, srun --mem-bind and
 * others.
 */
struct memory_policy {
	enum {
		FIRST_TOUCH, /* the default: pages lie with the thread that touches them first; or
				the policy is unknown */
		BOUND,	     /* no other nodes are used: a process that needs more is killed */
		STEERED, /* preferred, interleave: pages lie where the policy says, as long as there
			    is room */
	} kind;
	char text[256]; /* as the kernel writes it, "bind:3"; "": unknown, and errno was why */
};
void memory_policy_read(const char *root, struct memory_policy *);
hwloc_bitmap_t memory_policy_nodes(const struct memory_policy *); /* NULL: it names none */

/*
 * For machine_open(): takes away the memory of nodes outside a binding policy, and finds for each
 * node with CPUs where pages lie that these touch first. On this machine a page is touched where a
 * node has no memory of its own that we may use; otherwise, and where the kernel does not say where
 * that page lies, it is the nearest node.
 */
void nodes_settle(struct machine *);

/*
 * "which has no memory", "which has no memory that this process may use (cpuset)": of a node
 * without usable memory.
 */
#define NODE_TEXT 320
const char *node_lack(const struct machine *, const struct node *, char text[NODE_TEXT]);

#endif
