/* SPDX-License-Identifier: Apache-2.0 */
/* The life of a map and of its handles. */
#include <stdlib.h>
#include <sys/random.h>

#include "bench/hashmap/best.h"
#include "bench/hashmap/best_move.h"

enum { LEAST_HOMES = 64 };

static uint64_t random_seed(void)
{
	uint64_t seed;

	if (getrandom(&seed, sizeof(seed), GRND_NONBLOCK) != sizeof(seed))
		seed = clock_ticks();
	return seed;
}

static size_t least_homes(size_t capacity)
{
	const size_t homes = capacity / MOVE_MOST_KEYS + 1;

	return homes < LEAST_HOMES ? LEAST_HOMES : homes;
}

struct best_map *best_open(const struct best_options *o)
{
	struct best_map *m = apart_alloc(sizeof(*m));

	if (!m)
		return NULL;
	m->memory = o->memory ? *o->memory : best_memory_mapped;
	m->seed = best_seed_of(o->seed ? o->seed : random_seed());
	m->least = least_homes(o->capacity);
	m->moved.word = BEST_MOVED;
	m->none.bucket = &m->moved;
	m->none.homes = 1;
	m->current = tables_open(m, m->least, 0, m->least / MOVE_HOMES_OF_OVERFLOW);
	if (!m->current) {
		free(m);
		return NULL;
	}
	m->current->settled = true;
	return m;
}

void best_close(struct best_map *m)
{
	if (!m)
		return;
	tables_give_back(m); /* all: no handle names a table */
	for (struct best_table *t = m->current, *next; t; t = next) {
		next = t->next;
		tables_close(m, t);
	}
	for (struct best_handle *h = m->handles, *next; h; h = next) {
		next = h->next;
		free(h);
	}
	free(m);
}

struct best_handle *best_join(struct best_map *m)
{
	struct best_handle *h = atomic_load_explicit(&m->handles, memory_order_acquire);

	for (; h; h = h->next)
		if (!atomic_exchange_explicit(&h->taken, true, memory_order_acq_rel)) {
			h->costs = (struct best_costs){ 0 };
			return h;
		}
	h = apart_alloc(sizeof(*h));
	if (!h)
		return NULL;
	h->map = m;
	h->table = &m->none;
	h->seed = m->seed;
	h->taken = true;
	h->next = atomic_load_explicit(&m->handles, memory_order_relaxed);
	/*
	 * Sequentially consistent, as names are: a thread that looks for names and does not see
	 * this handle is ordered before all names in it.
	 */
	while (!atomic_compare_exchange_weak(&m->handles, &h->next, h))
		;
	return h;
}

struct best_costs best_leave(struct best_handle *h)
{
	struct best_costs spent = { 0 };

	if (!h)
		return spent;
	move_count(h);
	tables_leave(h);
	spent = h->costs;
	atomic_store_explicit(&h->taken, false, memory_order_release);
	return spent;
}

size_t best_size(const struct best_map *m)
{
	long keys = atomic_load_explicit(&m->keys, memory_order_relaxed);
	struct best_handle *h = atomic_load_explicit(&m->handles, memory_order_acquire);

	for (; h; h = h->next)
		keys += atomic_load_explicit(&h->pending, memory_order_relaxed);
	return keys < 0 ? 0 : (size_t)keys;
}

size_t best_bytes(const struct best_map *m)
{
	return atomic_load_explicit(&m->bytes, memory_order_relaxed);
}

/*
 * With as many overflow buckets in reserve as others. A table that is double the one before it has
 * no more: its reserve holds all overflow buckets of that one.
 */
static size_t bytes_of(size_t homes)
{
	return table_bytes_of(homes + 2 * (homes / MOVE_HOMES_OF_OVERFLOW));
}

size_t best_most_bytes(size_t capacity, size_t keys)
{
	size_t homes = least_homes(capacity), bytes = bytes_of(homes);

	while (homes * MOVE_MOST_KEYS < keys) {
		homes *= 2;
		bytes += bytes_of(homes);
	}
	/* and a small table, which may by chance run out of overflow buckets and be replaced */
	return bytes + bytes_of(LEAST_HOMES);
}
