/* SPDX-License-Identifier: Apache-2.0 */
/* The steps of machine_open(). */
#ifndef LOCUS_LOAD_H
#define LOCUS_LOAD_H

struct machine;

/*
 * Loads hwloc's topology: this machine's, a file's, or a synthetic description's. Sets topology,
 * running, name and ignored. -1 with *error; machine_close() frees all of them.
 */
int topology_load(struct machine *, const char *description, const char **error);

/*
 * Finds the kinds of cores, the fastest first, and the kind of each usable CPU; again when the
 * usable CPUs have changed. A machine of equal cores has none. -1: no memory.
 */
int kinds_find(struct machine *);

/*
 * Sets the memory of nodes outside a binding policy to 0, and each node's first_touch. For a node
 * without usable memory, first_touch is found by touching a page from its CPUs; if this is not the
 * running machine, or the kernel does not tell, it is the nearest node with memory.
 */
void nodes_find_memory(struct machine *);

#endif
