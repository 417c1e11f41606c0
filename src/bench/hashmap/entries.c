/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/hashmap/entries.h"

#include <stdlib.h>

#include "base/apart.h"

struct entries *entries_open(struct pool *pool, size_t bytes, unsigned threads)
{
	struct entries *e = apart_alloc(sizeof(*e) + threads * sizeof(e->own[0]));

	if (!e)
		return NULL;
	e->pool = pool;
	e->bytes = bytes;
	return e;
}

void entries_close(struct entries *e)
{
	free(e);
}

size_t entries_room(size_t bytes, uint64_t entries)
{
	return bytes * (entries + (uint64_t)4 * ENTRIES_BATCH);
}

static struct free_entry *take_batch(struct entries *e)
{
	struct free_entry *batch;

	if (!atomic_load_explicit(&e->depot, memory_order_relaxed))
		return NULL;
	spin_lock_acquire(&e->lock);
	batch = atomic_load_explicit(&e->depot, memory_order_relaxed);
	if (batch)
		atomic_store_explicit(&e->depot, batch->batch, memory_order_relaxed);
	spin_lock_release(&e->lock);
	return batch;
}

/* Not by pool_take(), which fails the trial: the map decides that. */
static void *take_fresh(const struct entries *e, const struct worker *self)
{
	struct pool_part *part = &e->pool->part[self->index];
	const uintptr_t at = (part->next + ENTRIES_ALIGN - 1) & ~(uintptr_t)(ENTRIES_ALIGN - 1);

	if (at > part->end || e->bytes > part->end - at)
		return NULL;
	part->next = at + e->bytes;
	return (void *)at;
}

void *entries_refill(struct entries *e, struct worker *self)
{
	struct entries_own *own = &e->own[self->index];

	own->first = own->full ? own->full : take_batch(e);
	own->full = NULL;
	if (!own->first)
		return take_fresh(e, self);
	own->n = ENTRIES_BATCH;
	return entries_take(e, self);
}

void entries_spill(struct entries *e, struct entries_own *own)
{
	if (own->full) {
		spin_lock_acquire(&e->lock);
		own->full->batch = atomic_load_explicit(&e->depot, memory_order_relaxed);
		atomic_store_explicit(&e->depot, own->full, memory_order_relaxed);
		spin_lock_release(&e->lock);
	}
	own->full = own->first;
	own->first = NULL;
	own->n = 0;
}
