/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory for the tables of best: the map's shared block, so that their nodes and pages are read
 * back as those of other maps are, and no page fault is timed when a table grows.
 */
#ifndef LOCUS_HASHMAP_FAST_MEMORY_H
#define LOCUS_HASHMAP_FAST_MEMORY_H

#include "solve/map/cmap.h"
#include "bench/hashmap/map.h"

/* Keys for which there is room from the start: all, or if fewer the buckets of other maps. */
size_t fast_capacity(const struct map_shape *);

/* Bytes of the block: enough for all tables up to shape.keys. */
size_t fast_memory_bytes(const struct map_shape *);

/* Makes all of the block free and zero. Its own data are at the start of the block. */
struct cmap_memory fast_memory_open(const struct map_shape *, void *shared);

#endif
