/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/hashmap/epoch.h"
#include "machine/clock.h"

#include <sched.h>
#include <stdlib.h>

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
