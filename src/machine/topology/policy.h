/* SPDX-License-Identifier: Apache-2.0 */
/* The memory policy that this process inherited. Read anew at each call. */
#ifndef LOCUS_POLICY_H
#define LOCUS_POLICY_H

#include <hwloc.h>

/* Set by set_mempolicy(2): numactl, srun --mem-bind and others; `root` as in base/sysfs.h. */
struct memory_policy {
	enum {
		/* the default: on the node of the first touch; also if unknown */
		POLICY_FIRST_TOUCH,
		/* only its nodes: a process that needs more is killed */
		POLICY_BOUND,
		/* preferred, interleave: its nodes, as long as there is room */
		POLICY_STEERED,
	} kind;
	char text[256]; /* as the kernel writes it, "bind:3"; "": unknown, errno says why */
};
void memory_policy_read(const char *root, struct memory_policy *);
hwloc_bitmap_t memory_policy_nodes(const struct memory_policy *); /* NULL: without nodes */

#endif
