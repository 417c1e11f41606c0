/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory policies of regions, for pages not touched yet. -1 with errno: EINVAL for a node that
 * isn't there; ENOMEM for a node without enough reserved huge pages, EPERM and ENOSYS where the
 * kernel lets nobody choose, these with arena_refusal().
 */
#ifndef LOCUS_MEMBIND_H
#define LOCUS_MEMBIND_H

#include <stddef.h>

struct arena;
struct region;

int region_bind(struct region *, int node);
/* over all nodes with memory that the process may use */
int region_interleave(struct region *);

/*
 * The simple case: zeros on pages of the system's size that are there and claimed, on this node, or
 * where it has no memory, on the one that its CPUs touch first. NULL with errno as above, and
 * ENOMEM where there is no room (room.h).
 */
void *region_on_node(struct arena *, const char *name, size_t bytes, int node);

#endif
