/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory for a map's tables, from malloc(), so that sanitizers watch it. It is counted and limited.
 */
#ifndef LOCUS_COUNTED_MEMORY_H
#define LOCUS_COUNTED_MEMORY_H

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "solve/map/cmap.h"

struct counted_memory {
	_Atomic long tables, limit, refused; /* limit: the most tables at a time */
};

static inline void *counted_take(void *from, size_t bytes)
{
	struct counted_memory *c = from;
	void *memory =
		atomic_load(&c->tables) < atomic_load(&c->limit) ? aligned_alloc(128, bytes) : NULL;

	if (!memory) {
		atomic_fetch_add(&c->refused, 1);
		return NULL;
	}
	atomic_fetch_add(&c->tables, 1);
	return memset(memory, 0, bytes);
}

static inline void counted_give(void *from, void *memory, size_t bytes)
{
	struct counted_memory *c = from;

	(void)bytes;
	atomic_fetch_sub(&c->tables, 1);
	free(memory);
}

static inline struct cmap *counted_open(struct counted_memory *c, size_t capacity, uint64_t seed)
{
	const struct cmap_memory memory = { counted_take, counted_give, c };

	return cmap_open(&(struct cmap_options){ capacity, &memory, seed });
}

#endif
