/* SPDX-License-Identifier: Apache-2.0 */
#include <sched.h>
#include <stdlib.h>

#include "base/apart.h"
#include "bench/hashmap/entries.h"
#include "machine/clock.h"

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

/* Does without pool_take(), which fails the trial: the map decides whether it fails. */
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

struct epoch *epoch_open(struct entries *entries, size_t link, unsigned threads, bool reclaim)
{
	struct epoch *e = apart_alloc(sizeof(*e) + threads * sizeof(e->own[0]));

	if (!e)
		return NULL;
	e->entries = entries;
	e->link = link;
	e->threads = threads;
	e->reclaim = reclaim;
	for (unsigned i = 0; i < threads; i++)
		atomic_init(&e->own[i].seen, EPOCH_AWAY);
	return e;
}

void epoch_close(struct epoch *e)
{
	free(e);
}

/*
 * Sequentially consistent: either the thread that advances the epoch sees this one, or this one
 * sees the new epoch.
 */
void epoch_begin(struct epoch *e, unsigned me)
{
	_Atomic uint64_t *seen = &e->own[me].seen;
	uint64_t now;

	do {
		now = atomic_load(&e->now);
		atomic_store(seen, now);
	} while (atomic_load(&e->now) != now);
}

void epoch_end(struct epoch *e, unsigned me)
{
	atomic_store_explicit(&e->own[me].seen, EPOCH_AWAY, memory_order_release);
}

static void advance(struct epoch *e)
{
	uint64_t now = atomic_load(&e->now);

	for (unsigned i = 0; i < e->threads; i++) {
		const uint64_t seen = atomic_load(&e->own[i].seen);

		if (seen != EPOCH_AWAY && seen != now)
			return;
	}
	atomic_compare_exchange_strong(&e->now, &now, now + 1);
}

static struct epoch_link *link_of(const struct epoch *e, void *entry)
{
	return (struct epoch_link *)((unsigned char *)entry + e->link);
}

static void empty(struct epoch *e, struct worker *self, struct epoch_bag *bag)
{
	void *entry = bag->first;

	while (entry) {
		void *next = link_of(e, entry)->next;

		entries_give(e->entries, self, entry);
		entry = next;
	}
	e->own[self->index].kept -= bag->n;
	bag->first = NULL;
	bag->n = 0;
}

static void look(struct epoch *e, struct worker *self, bool try)
{
	struct epoch_own *own = &e->own[self->index];
	uint64_t now = atomic_load_explicit(&e->now, memory_order_acquire);

	atomic_store_explicit(&own->seen, now, memory_order_release);
	if (!own->kept)
		return;
	if (try) {
		own->retired = 0;
		advance(e);
	}
	for (unsigned i = 0; i < EPOCH_BAGS; i++)
		if (own->bag[i].first && own->bag[i].epoch + EPOCH_AFTER <= now)
			empty(e, self, &own->bag[i]);
}

void epoch_rest(struct epoch *e, struct worker *self)
{
	look(e, self, e->own[self->index].retired >= EPOCH_TRY);
}

bool epoch_await(struct epoch *e, struct worker *self)
{
	const uint64_t kept = e->own[self->index].kept;
	const double end = clock_now() + EPOCH_PATIENCE;

	for (unsigned looks = 0; kept && (looks < EPOCH_LOOKS || clock_now() < end); looks++) {
		look(e, self, true);
		if (e->own[self->index].kept < kept)
			return true;
		sched_yield();
	}
	return false;
}

/* A bag has the epoch of its last entry: older entries may be kept longer than they need. */
void epoch_retire(struct epoch *e, unsigned me, void *entry)
{
	struct epoch_own *own = &e->own[me];
	const uint64_t seen = atomic_load_explicit(&own->seen, memory_order_relaxed);
	struct epoch_bag *bag = &own->bag[seen % EPOCH_BAGS];

	if (!e->reclaim)
		return;
	link_of(e, entry)->next = bag->first;
	bag->first = entry;
	bag->epoch = seen;
	bag->n++;
	own->retired++;
	own->kept++;
}

uint64_t epoch_kept(const struct epoch *e)
{
	uint64_t kept = 0;

	for (unsigned i = 0; i < e->threads; i++)
		kept += e->own[i].kept;
	return kept;
}
