/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stripes; and striped, the map in which every operation, reads too, takes its stripe's lock.
 * Chains are changed in place.
 */
#include <stdlib.h>
#include <string.h>

#include "base/arithmetic.h"
#include "bench/hashmap/entries.h"
#include "bench/hashmap/striped.h"

/*
 * Buckets of the last table. The fullest stripe makes the table double, and may have more keys than
 * the mean: the size allows for 25 % more.
 */
static size_t most_buckets(const struct map_shape *shape)
{
	size_t buckets = shape->buckets;

	while ((double)buckets * shape->load < (double)shape->keys * 1.25)
		buckets *= 2;
	return buckets;
}

static size_t locks_bytes(const struct map_shape *shape)
{
	return round_up(shape->stripes * shape->lock_stride, APART);
}

static size_t sizes_bytes(const struct map_shape *shape)
{
	return round_up(shape->stripes * shape->size_stride, APART);
}

size_t stripes_bytes(const struct map_shape *shape)
{
	return locks_bytes(shape) + sizes_bytes(shape) +
	       (2 * most_buckets(shape) - shape->buckets) * sizeof(void *);
}

void stripes_open(struct stripes *s, const struct map_shape *shape, const struct map_memory *memory)
{
	unsigned char *at = memory->shared;
	const size_t head = locks_bytes(shape) + sizes_bytes(shape);

	*s = (struct stripes){ .n = shape->stripes,
			       .lock_stride = shape->lock_stride,
			       .size_stride = shape->size_stride,
			       .locks = at,
			       .sizes = at + locks_bytes(shape),
			       .tables = (void **)(at + head),
			       .first = shape->buckets,
			       .most = most_buckets(shape),
			       .load = shape->load,
			       .costs = memory->costs };
	memset(at, 0, head + shape->buckets * sizeof(void *));
}

uint64_t stripes_size(const struct stripes *s)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < s->n; i++)
		sum += atomic_load_explicit(stripes_size_of(s, i), memory_order_relaxed);
	return sum;
}

size_t stripes_used(const struct stripes *s, size_t buckets)
{
	return (size_t)((unsigned char *)s->tables - s->locks) + buckets * sizeof(void *);
}

void stripes_lock_all(const struct stripes *s, unsigned me)
{
	for (unsigned i = 0; i < s->n; i++)
		stripes_lock(s, i, me);
}

void stripes_unlock_all(const struct stripes *s)
{
	for (unsigned i = 0; i < s->n; i++)
		stripes_unlock(s, i);
}

struct entry {
	struct entry *next;
	uint64_t key, value[];
};

struct striped {
	struct stripes stripes;
	unsigned words;
	struct entries *entries;
	/* written under all locks, so any one lock suffices to read them */
	struct entry **bucket;
	size_t buckets;
};

static size_t entry_bytes(unsigned words)
{
	return sizeof(struct entry) + words * sizeof(uint64_t);
}

static size_t own(const struct map_shape *shape)
{
	return entries_room(entry_bytes(shape->words), shape->share);
}

static void *create(const struct map_shape *shape, const struct map_memory *memory)
{
	struct striped *m = calloc(1, sizeof(*m));

	if (!m)
		return NULL;
	m->entries = entries_open(memory->pool, entry_bytes(shape->words), shape->threads);
	if (!m->entries) {
		free(m);
		return NULL;
	}
	stripes_open(&m->stripes, shape, memory);
	m->words = shape->words;
	m->buckets = shape->buckets;
	m->bucket = (struct entry **)m->stripes.tables;
	return m;
}

static void destroy(void *map)
{
	struct striped *m = map;

	entries_close(m->entries);
	free(m);
}

/* The locked stripe of an operation, and the link to its entry, or the NULL that ends the chain. */
struct at {
	unsigned stripe;
	struct entry **entry;
};

/* lesson lock-striping */
static inline struct at lock_and_look(struct striped *m, const struct worker *self, uint64_t key)
{
	const uint64_t hash = map_hash(key);
	struct at at = { .stripe = (unsigned)hash & (m->stripes.n - 1) };

	stripes_lock(&m->stripes, at.stripe, self->index);
	at.entry = &m->bucket[hash & (m->buckets - 1)];
	while (*at.entry && (*at.entry)->key != key)
		at.entry = &(*at.entry)->next;
	return at;
}
/* lesson ends */

static enum map_answer find(void *map, struct worker *self, uint64_t key, uint64_t *value)
{
	struct striped *m = map;
	const struct at at = lock_and_look(m, self, key);
	const struct entry *e = *at.entry;

	for (unsigned i = 0; e && i < m->words; i++)
		value[i] = e->value[i];
	stripes_unlock(&m->stripes, at.stripe);
	return e ? MAP_PRESENT : MAP_ABSENT;
}

/* Bucket b's entries go to b and b + buckets, in their order. */
static void split(struct entry *e, struct entry **low, struct entry **high, size_t buckets)
{
	for (; e; e = e->next) {
		struct entry ***end = map_hash(e->key) & buckets ? &high : &low;

		**end = e;
		*end = &e->next;
	}
	*low = *high = NULL;
}

/* Does nothing if another thread has doubled the table since. */
static void grow(struct striped *m, unsigned me, size_t buckets)
{
	struct map_costs *costs = &m->stripes.costs[me];
	const uint64_t began = clock_ticks();
	struct entry **old, **new;

	stripes_lock_all(&m->stripes, me);
	if (m->buckets == buckets) {
		old = m->bucket;
		new = (struct entry **)m->stripes.tables + stripes_table(&m->stripes, 2 * buckets);
		for (size_t i = 0; i < buckets; i++)
			split(old[i], &new[i], &new[i + buckets], buckets);
		m->bucket = new;
		m->buckets = 2 * buckets;
		costs->growths++;
		costs->grown += clock_ticks() - began;
	}
	stripes_unlock_all(&m->stripes);
}

static void fill(struct entry *e, const uint64_t *value, unsigned words)
{
	for (unsigned i = 0; i < words; i++)
		e->value[i] = value[i];
}

static enum map_answer put(struct striped *m, struct worker *self, uint64_t key,
			   const uint64_t *value, bool replace)
{
	const struct at at = lock_and_look(m, self, key);
	enum map_answer answer = *at.entry ? MAP_PRESENT : MAP_ABSENT;
	const size_t buckets = m->buckets;
	struct entry *e = *at.entry;
	uint32_t entries = 0;

	if (!e && !(e = entries_take(m->entries, self)))
		answer = MAP_NO_MEMORY;
	if (answer == MAP_ABSENT) {
		_Atomic uint32_t *size = stripes_size_of(&m->stripes, at.stripe);

		e->next = NULL;
		e->key = key;
		*at.entry = e;
		entries = atomic_load_explicit(size, memory_order_relaxed) + 1;
		atomic_store_explicit(size, entries, memory_order_relaxed);
	}
	if (answer == MAP_ABSENT || (answer == MAP_PRESENT && replace))
		fill(e, value, m->words);
	stripes_unlock(&m->stripes, at.stripe);
	if (answer == MAP_NO_MEMORY)
		pool_used_up(m->entries->pool, self, m->entries->bytes);
	else if (stripes_are_full(&m->stripes, entries, buckets))
		grow(m, self->index, buckets);
	return answer;
}

static enum map_answer insert(void *map, struct worker *self, uint64_t key, const uint64_t *value)
{
	return put(map, self, key, value, false);
}

static enum map_answer upsert(void *map, struct worker *self, uint64_t key, const uint64_t *value)
{
	return put(map, self, key, value, true);
}

static enum map_answer remove_key(void *map, struct worker *self, uint64_t key)
{
	struct striped *m = map;
	const struct at at = lock_and_look(m, self, key);
	struct entry *e = *at.entry;

	if (e) {
		_Atomic uint32_t *size = stripes_size_of(&m->stripes, at.stripe);

		*at.entry = e->next;
		atomic_store_explicit(size, atomic_load_explicit(size, memory_order_relaxed) - 1,
				      memory_order_relaxed);
	}
	stripes_unlock(&m->stripes, at.stripe);
	if (!e)
		return MAP_ABSENT;
	entries_give(m->entries, self, e);
	return MAP_PRESENT;
}

/* Stripe by stripe: no entry changes its stripe. */
static void each(void *map, struct worker *self, void (*visit)(void *, uint64_t, const uint64_t *),
		 void *argument)
{
	struct striped *m = map;

	for (unsigned stripe = 0; stripe < m->stripes.n; stripe++) {
		stripes_lock(&m->stripes, stripe, self->index);
		for (size_t i = stripe; i < m->buckets; i += m->stripes.n)
			for (const struct entry *e = m->bucket[i]; e; e = e->next)
				visit(argument, e->key, e->value);
		stripes_unlock(&m->stripes, stripe);
	}
}

static uint64_t size(const void *map)
{
	return stripes_size(&((const struct striped *)map)->stripes);
}

static size_t bytes(const void *map)
{
	const struct striped *m = map;

	return stripes_used(&m->stripes, m->buckets) + size(m) * m->entries->bytes;
}

const struct map_kind striped_map = { .shared = stripes_bytes,
				      .own = own,
				      .create = create,
				      .destroy = destroy,
				      .find = find,
				      .insert = insert,
				      .upsert = upsert,
				      .remove = remove_key,
				      .each = each,
				      .size = size,
				      .bytes = bytes };
