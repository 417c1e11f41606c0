/* SPDX-License-Identifier: Apache-2.0 */
/*
 * library: cds_lfht of liburcu, a lock-free table of split-ordered lists. Flavour QSBR: reads cost
 * nothing, and each thread reports quiescent states between operations (rest). A thread that has
 * retired LIBRARY_BATCH entries waits for one grace period for all of them. A thread of liburcu
 * doubles the table, and may run on any CPU of the process; malloc() supplies the table's memory.
 */
#include "config.h"

#include "bench/hashmap/map.h"
#include "base/relax.h"

#ifdef HAVE_URCU
#include <stdlib.h>
#include <unistd.h>
#include <urcu-qsbr.h>
#include <urcu/rculfhash.h>

#include "bench/hashmap/entries.h"
#include "machine/threads/affinity.h"

enum { LIBRARY_BATCH = 16 * ENTRIES_BATCH };

struct entry {
	struct cds_lfht_node node;
	struct entry *retired; /* the next entry that waits */
	uint64_t key, value[];
};

struct own {
	_Alignas(APART) struct entry *retired;
	unsigned n;
};

struct library {
	struct cds_lfht *table;
	struct entries *entries;
	unsigned words, threads;
	bool reclaim;
	struct own own[];
};

static size_t entry_bytes(unsigned words)
{
	return sizeof(struct entry) + words * sizeof(uint64_t);
}

static size_t no_tables(const struct map_shape *shape)
{
	(void)shape;
	return 0;
}

static size_t own_bytes(const struct map_shape *shape)
{
	const uint64_t entries = shape->reclaim ? shape->share + LIBRARY_BATCH + MAP_BLOCK
						: shape->share + shape->writes;

	return entries_room(entry_bytes(shape->words), entries);
}

/*
 * Creates the first table. That starts the thread that doubles tables, which inherits the CPUs on
 * which this one may run: all of them meanwhile, so that it does not stay on this thread's CPU.
 */
static struct cds_lfht *new_table(size_t buckets)
{
	const int flags = CDS_LFHT_AUTO_RESIZE | CDS_LFHT_ACCOUNTING;
	hwloc_bitmap_t mine = cpuset_get(), all = hwloc_bitmap_alloc();
	struct cds_lfht *table;

	if (mine && all && !hwloc_bitmap_set_range(all, 0, (int)sysconf(_SC_NPROCESSORS_CONF) - 1))
		cpuset_set(all);
	table = cds_lfht_new(buckets, buckets, 0, flags, NULL);
	if (mine)
		cpuset_set(mine);
	hwloc_bitmap_free(mine);
	hwloc_bitmap_free(all);
	return table;
}

static void *create(const struct map_shape *shape, const struct map_memory *memory)
{
	struct library *m = apart_alloc(sizeof(*m) + shape->threads * sizeof(m->own[0]));

	if (!m)
		return NULL;
	m->words = shape->words;
	m->threads = shape->threads;
	m->reclaim = shape->reclaim;
	m->entries = entries_open(memory->pool, entry_bytes(shape->words), shape->threads);
	m->table = m->entries ? new_table(shape->buckets) : NULL;
	if (!m->table) {
		entries_close(m->entries);
		free(m);
		return NULL;
	}
	return m;
}

/* A table can be freed only when it is empty. */
static void destroy(void *map)
{
	struct library *m = map;
	struct cds_lfht_iter iter;
	struct cds_lfht_node *node;

	rcu_register_thread();
	cds_lfht_for_each(m->table, &iter, node) cds_lfht_del(m->table, node);
	rcu_unregister_thread();
	cds_lfht_destroy(m->table, NULL);
	entries_close(m->entries);
	free(m);
}

static void begin(void *map, struct worker *self)
{
	(void)map, (void)self;
	rcu_register_thread();
}

static void end(void *map, struct worker *self)
{
	(void)map, (void)self;
	rcu_unregister_thread();
}

static void give_back(struct library *m, struct worker *self)
{
	struct own *own = &m->own[self->index];
	struct entry *e = own->retired, *next;

	synchronize_rcu();
	for (; e; e = next) {
		next = e->retired;
		entries_give(m->entries, self, e);
	}
	*own = (struct own){ NULL, 0 };
}

static void rest(void *map, struct worker *self)
{
	struct library *m = map;

	rcu_quiescent_state();
	if (m->own[self->index].n >= LIBRARY_BATCH)
		give_back(m, self);
}

static void retire(struct library *m, const struct worker *self, struct entry *e)
{
	struct own *own = &m->own[self->index];

	if (!m->reclaim)
		return;
	e->retired = own->retired;
	own->retired = e;
	own->n++;
}

static int match(struct cds_lfht_node *node, const void *key)
{
	return caa_container_of(node, struct entry, node)->key == *(const uint64_t *)key;
}

static struct entry *look_up(struct library *m, uint64_t key)
{
	struct cds_lfht_iter iter;
	struct cds_lfht_node *node;

	cds_lfht_lookup(m->table, map_hash(key), match, &key, &iter);
	node = cds_lfht_iter_get_node(&iter);
	return node ? caa_container_of(node, struct entry, node) : NULL;
}

static enum map_answer find(void *map, struct worker *self, uint64_t key, uint64_t *value)
{
	struct library *m = map;
	const struct entry *e = look_up(m, key);

	(void)self;
	for (unsigned i = 0; e && i < m->words; i++)
		value[i] = e->value[i];
	return e ? MAP_PRESENT : MAP_ABSENT;
}

/*
 * Frees the thread's own retired entries after a grace period, before it reports that memory is
 * used up.
 */
static struct entry *new_entry(struct library *m, struct worker *self, uint64_t key,
			       const uint64_t *value)
{
	struct entry *e = entries_take(m->entries, self);

	if (!e && m->own[self->index].n) {
		give_back(m, self);
		e = entries_take(m->entries, self);
	}
	if (!e)
		return pool_used_up(m->entries->pool, self, m->entries->bytes);
	cds_lfht_node_init(&e->node);
	e->key = key;
	for (unsigned i = 0; i < m->words; i++)
		e->value[i] = value[i];
	return e;
}

static enum map_answer insert(void *map, struct worker *self, uint64_t key, const uint64_t *value)
{
	struct library *m = map;
	struct entry *e;

	if (look_up(m, key))
		return MAP_PRESENT;
	e = new_entry(m, self, key, value);
	if (!e)
		return MAP_NO_MEMORY;
	if (cds_lfht_add_unique(m->table, map_hash(key), match, &key, &e->node) == &e->node)
		return MAP_ABSENT;
	entries_give(m->entries, self, e); /* another thread was first */
	return MAP_PRESENT;
}

static enum map_answer upsert(void *map, struct worker *self, uint64_t key, const uint64_t *value)
{
	struct library *m = map;
	struct entry *e = new_entry(m, self, key, value);
	struct cds_lfht_node *old;

	if (!e)
		return MAP_NO_MEMORY;
	old = cds_lfht_add_replace(m->table, map_hash(key), match, &key, &e->node);
	if (!old)
		return MAP_ABSENT;
	retire(m, self, caa_container_of(old, struct entry, node));
	return MAP_PRESENT;
}

/* Another thread may replace the entry before it is removed: the key is present all the time. */
static enum map_answer remove_key(void *map, struct worker *self, uint64_t key)
{
	struct library *m = map;
	struct entry *e;

	do {
		e = look_up(m, key);
		if (!e)
			return MAP_ABSENT;
	} while (cds_lfht_del(m->table, &e->node));
	retire(m, self, e);
	return MAP_PRESENT;
}

static void each(void *map, struct worker *self, void (*visit)(void *, uint64_t, const uint64_t *),
		 void *argument)
{
	struct library *m = map;
	struct cds_lfht_iter iter;
	struct entry *e;

	(void)self;
	cds_lfht_for_each_entry(m->table, &iter, e, node) visit(argument, e->key, e->value);
}

static uint64_t size(const void *map)
{
	const struct library *m = map;
	unsigned long entries;
	long before, after;

	rcu_register_thread();
	cds_lfht_count_nodes(m->table, &before, &entries, &after);
	rcu_unregister_thread();
	return entries;
}

const struct map_kind library_map = { .shared = no_tables,
				      .own = own_bytes,
				      .grows_apart = true,
				      .create = create,
				      .destroy = destroy,
				      .begin = begin,
				      .rest = rest,
				      .end = end,
				      .find = find,
				      .insert = insert,
				      .upsert = upsert,
				      .remove = remove_key,
				      .each = each,
				      .size = size };
#else
const struct map_kind library_map = { 0 };
#endif

const char *library_available(void)
{
#ifndef HAVE_URCU
	return "it needs liburcu, which was missing when locus was built (Debian: liburcu-dev)";
#else
	return TSAN ? "ThreadSanitizer can't see how liburcu orders memory" : NULL;
#endif
}
