/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The nodes of a machine: whether this process may use their memory, and on which node first touch
 * by their CPUs places pages.
 */
#ifndef LOCUS_NODES_H
#define LOCUS_NODES_H

struct machine;
struct node;

/*
 * For machine_open(): sets the memory of nodes outside a binding policy to 0, and each node's
 * first_touch. For a node without usable memory, first_touch is found by touching a page from its
 * CPUs; if this is not the running machine, or the kernel does not tell, it is the nearest node
 * with memory.
 */
void nodes_find_memory(struct machine *);

/*
 * Why a node has no usable memory, as the end of a sentence: "which has no memory", "which has no
 * memory that this process may use (cpuset)".
 */
#define NODE_TEXT 320
const char *node_lack(const struct machine *, const struct node *, char text[NODE_TEXT]);

#endif
