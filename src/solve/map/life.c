/* SPDX-License-Identifier: Apache-2.0 */
/* The life of a map and of its handles: from open to close, from join to leave. */
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/random.h>

#include "solve/map/cmap.h"
#include "solve/map/tables.h"

/* Sizes from 2 MiB on are aligned to 2 MiB, and get huge pages if there are any. */
static void *map_take(void *from, size_t bytes)
{
	const size_t more = bytes < TABLE_HUGE_PAGE ? 0 : TABLE_HUGE_PAGE;
	char *at = mmap(NULL, bytes + more, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	size_t before;

	(void)from;
	if (at == MAP_FAILED)
		return NULL;
	if (!more)
		return at;
	before = -(uintptr_t)at % TABLE_HUGE_PAGE;
	if (before)
		munmap(at, before);
	if (more - before)
		munmap(at + before + bytes, more - before);
	madvise(at + before, bytes, MADV_HUGEPAGE);
	return at + before;
}

static void map_give(void *from, void *memory, size_t bytes)
{
	(void)from;
	munmap(memory, bytes);
}

static const struct cmap_memory mapped = { map_take, map_give, NULL };

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
	const size_t homes = capacity / TABLES_MOST_KEYS + 1;

	return homes < LEAST_HOMES ? LEAST_HOMES : homes;
}

struct cmap *cmap_open(const struct cmap_options *o)
{
	struct cmap *m = apart_alloc(sizeof(*m));

	if (!m)
		return NULL;
	m->memory = o->memory ? *o->memory : mapped;
	m->seed = table_seed_of(o->seed ? o->seed : random_seed());
	m->least = least_homes(o->capacity);
	m->moved.word = BUCKET_MOVED;
	m->none.bucket = &m->moved;
	m->none.homes = 1;
	m->current = tables_open(m, m->least, 0, m->least / TABLES_HOMES_OF_OVERFLOW);
	if (!m->current) {
		free(m);
		return NULL;
	}
	m->current->settled = true;
	return m;
}

void cmap_close(struct cmap *m)
{
	if (!m)
		return;
	tables_give_back(m); /* all: no handle names a table */
	for (struct table *t = m->current, *next; t; t = next) {
		next = t->next;
		tables_close(m, t);
	}
	for (struct cmap_handle *h = m->handles, *next; h; h = next) {
		next = h->next;
		free(h);
	}
	free(m);
}

struct cmap_handle *cmap_join(struct cmap *m)
{
	struct cmap_handle *h = atomic_load_explicit(&m->handles, memory_order_acquire);

	for (; h; h = h->next)
		if (!atomic_exchange_explicit(&h->taken, true, memory_order_acq_rel)) {
			h->costs = (struct cmap_costs){ 0 };
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

struct cmap_costs cmap_leave(struct cmap_handle *h)
{
	struct cmap_costs spent = { 0 };

	if (!h)
		return spent;
	tables_count(h);
	tables_leave(h);
	spent = h->costs;
	atomic_store_explicit(&h->taken, false, memory_order_release);
	return spent;
}

size_t cmap_size(const struct cmap *m)
{
	long keys = atomic_load_explicit(&m->keys, memory_order_relaxed);
	struct cmap_handle *h = atomic_load_explicit(&m->handles, memory_order_acquire);

	for (; h; h = h->next)
		keys += atomic_load_explicit(&h->pending, memory_order_relaxed);
	return keys < 0 ? 0 : (size_t)keys;
}

size_t cmap_bytes(const struct cmap *m)
{
	return atomic_load_explicit(&m->bytes, memory_order_relaxed);
}

/*
 * With as many overflow buckets in reserve as others. A table that is double the one before it has
 * no more: its reserve holds all overflow buckets of that one.
 */
static size_t bytes_of(size_t homes)
{
	return table_bytes_of(homes + 2 * (homes / TABLES_HOMES_OF_OVERFLOW));
}

size_t cmap_most_bytes(size_t capacity, size_t keys)
{
	size_t homes = least_homes(capacity), bytes = bytes_of(homes);

	while (homes * TABLES_MOST_KEYS < keys) {
		homes *= 2;
		bytes += bytes_of(homes);
	}
	/* and a small table, which may by chance run out of overflow buckets and be replaced */
	return bytes + bytes_of(LEAST_HOMES);
}
