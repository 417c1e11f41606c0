/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The nodes of a machine: whether this process may use their memory, and where pages lie that a
 * node's CPUs touch first.
 */
#ifndef LOCUS_NODES_H
#define LOCUS_NODES_H

struct machine;
struct node;

/*
 * For machine_open(): takes away the memory of nodes outside a binding policy, and finds for each
 * node with CPUs where pages lie that these touch first. On this machine a page is touched where a
 * node has no memory of its own that we may use; otherwise, and where the kernel does not say where
 * that page lies, it is the nearest node.
 */
void nodes_find_memory(struct machine *);

/*
 * "which has no memory", "which has no memory that this process may use (cpuset)": of a node
 * without usable memory.
 */
#define NODE_TEXT 320
const char *node_lack(const struct machine *, const struct node *, char text[NODE_TEXT]);

#endif
