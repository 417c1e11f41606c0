/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory policies of regions, for pages not touched yet. -1 with errno: EINVAL if there is no such
 * node; with arena_refusal(): ENOMEM if the node lacks reserved huge pages, EPERM and ENOSYS if the
 * kernel refuses policies.
 */
#ifndef LOCUS_MEMBIND_H
#define LOCUS_MEMBIND_H

#include <stddef.h>

struct arena;
struct region;

int region_bind(struct region *, int node);
/* interleaves over all nodes with memory that the process may use */
int region_interleave(struct region *);

/*
 * The usual case: maps, binds, claims and zeroes system pages on this node or, if it has no memory,
 * on the node where first touch by its CPUs places pages. NULL with errno as above, and ENOMEM if
 * there is no room (room.h).
 */
void *region_on_node(struct arena *, const char *name, size_t bytes, int node);

#endif
