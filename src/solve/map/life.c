/* SPDX-License-Identifier: Apache-2.0 */
/* The life of a map and of its handles, from open to close and from join to leave; and the scan. */
#include <stdlib.h>
#include <string.h>
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
	 * Sequentially consistent, like names: a thread that looks for names and does not see this
	 * handle is ordered before all names in it.
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
 * The table has as many overflow buckets in reserve as others. A table twice the size of the one
 * before it has no more: its reserve holds all overflow buckets of the smaller one.
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
	/* plus a small table, which may by chance run out of overflow buckets and be replaced */
	return bytes + bytes_of(LEAST_HOMES);
}

/* ---- the scan ---- */

/*
 * Visits all keys in the order of (hash, key). Homes of every table are in the order of the hash,
 * so a scan can go on in another table.
 */
/* The first pairs of a home and its chain, at or after the cursor, in the order of the scan. */
struct gather {
	struct table_seed seed;
	const struct cmap_cursor *from;
	struct cmap_pair *pair;
	size_t room, n;
	bool more; /* more pairs than fit */
};

static bool comes_before(struct table_seed seed, uint64_t key, uint64_t hash, uint64_t other)
{
	const uint64_t hash_of_other = table_hash(seed, other);

	return hash < hash_of_other || (hash == hash_of_other && key < other);
}

static void gather(struct gather *g, uint64_t key, uint64_t value)
{
	const uint64_t hash = table_hash(g->seed, key);
	size_t at = g->n;

	if (hash < g->from->hash || (hash == g->from->hash && key < g->from->key))
		return;
	while (at > 0 && comes_before(g->seed, key, hash, g->pair[at - 1].key))
		at--;
	if (at > 0 && g->pair[at - 1].key == key)
		return; /* seen in the chain, and in the home where it was just moved */
	g->more |= g->n == g->room;
	if (at == g->room)
		return;
	g->n += g->n < g->room;
	memmove(&g->pair[at + 1], &g->pair[at], (g->n - at - 1) * sizeof(*g->pair));
	g->pair[at] = (struct cmap_pair){ key, value };
}

/* False: the home has changed meanwhile. */
static bool gather_chain(struct gather *g, struct table *t, struct bucket *home, uint64_t home_word)
{
	struct bucket *b = home;
	uint64_t word = home_word;

	g->n = 0;
	g->more = false;
	for (;;) {
		const uint32_t next = bucket_next(bucket_load(&b->chain));

		for (uint64_t slots = word & BUCKET_USED; slots; slots &= slots - 1) {
			const size_t s = bucket_first(slots);

			gather(g, bucket_load(&b->key[s]), bucket_load(&b->value[s]));
		}
		if (!bucket_unchanged(home, home_word))
			return false;
		if (!next)
			return true;
		b = &t->bucket[next];
		word = bucket_load(&b->word);
	}
}

/* Gathers the home of the cursor's hash. Returns the table that has this home. */
static struct table *gather_home(struct cmap_handle *h, struct gather *g)
{
	struct table *t = tables_enter(h);

	for (;;) {
		struct bucket *b = table_home(t, g->from->hash);
		const uint64_t word = bucket_load(&b->word);

		if (!(word & BUCKET_MOVED)) {
			if (gather_chain(g, t, b, word))
				return t;
			continue;
		}
		t = tables_follow(h, t);
		if (!t)
			t = tables_enter(h);
	}
}

static void advance(struct cmap_cursor *c, const struct table *t, const struct gather *g)
{
	if (g->more) {
		c->key = g->pair[g->n - 1].key;
		c->hash = table_hash(g->seed, c->key);
		c->end = c->key == UINT64_MAX && c->hash == UINT64_MAX;
		if (!++c->key)
			c->hash++;
		return;
	}
	c->key = 0;
	c->hash = table_from(t, table_index(t, c->hash) + 1);
	c->end = !c->hash;
}

size_t cmap_scan(struct cmap_handle *h, struct cmap_cursor *c, struct cmap_pair *pair, size_t room)
{
	size_t n = 0;

	while (!c->end && n < room) {
		struct gather g = { h->seed, c, pair + n, room - n };

		advance(c, gather_home(h, &g), &g);
		n += g.n;
	}
	return n;
}
