/* SPDX-License-Identifier: Apache-2.0 */
/*
 * striped-waitfree: writes under the lock of their stripe, reads without any lock or wait. An entry
 * is never changed once it can be found, and neither is the rest of its chain: a removal or an
 * update copies the entries before its own.
 *
 * A reader first looks at its stripe's count, as in the published map, which is why counts on
 * shared lines cost readers. A writer increases the count before it publishes an entry, and
 * decreases it after it has taken one out, so a reader that finds 0 may answer that the key is
 * absent.
 *
 * A reader that still has the table from before it doubled finds what was in the map when it
 * doubled, which was during the read.
 */
#include <stdlib.h>

#include "bench/hashmap/striped.h"

/* Retired entries that may wait for readers, beyond a thread's share. */
enum { WAITING = 1 << 15 };

static size_t entry_bytes(unsigned words)
{
	return sizeof(struct waitfree_entry) + words * sizeof(uint64_t);
}

/*
 * With reclamation: room for retired entries, too. Doubling the table copies a sixth of all
 * entries, all by one thread in the worst case.
 */
static size_t own(const struct map_shape *shape)
{
	const bool grows = (double)shape->keys > (double)shape->buckets * shape->load;
	const uint64_t copies = grows ? shape->keys / 2 : 0,
		       entries = shape->reclaim ? shape->share + WAITING
						: shape->share + 2 * shape->writes;

	return entries_room(entry_bytes(shape->words), entries + copies);
}

static void destroy(void *map)
{
	struct waitfree *m = map;

	if (m->epoch)
		epoch_close(m->epoch);
	entries_close(m->entries);
	free(m);
}

static void *create(const struct map_shape *shape, const struct map_memory *memory)
{
	struct waitfree *m = calloc(1, sizeof(*m));

	if (!m)
		return NULL;
	m->entries = entries_open(memory->pool, entry_bytes(shape->words), shape->threads);
	if (m->entries)
		m->epoch = epoch_open(m->entries, offsetof(struct waitfree_entry, link),
				      shape->threads, shape->reclaim);
	if (!m->epoch) {
		destroy(m);
		return NULL;
	}
	stripes_open(&m->stripes, shape, memory);
	m->words = shape->words;
	m->table[0] = (struct waitfree_table){ shape->buckets, (void *)m->stripes.tables };
	atomic_init(&m->now, &m->table[0]);
	return m;
}

static void begin(void *map, struct worker *self)
{
	epoch_begin(((struct waitfree *)map)->epoch, self->index);
}

static void rest(void *map, struct worker *self)
{
	epoch_rest(((struct waitfree *)map)->epoch, self);
}

static void end(void *map, struct worker *self)
{
	epoch_end(((struct waitfree *)map)->epoch, self->index);
}

static enum map_answer find(void *map, struct worker *self, uint64_t key, uint64_t *value)
{
	struct waitfree *m = map;
	const uint64_t hash = map_hash(key);
	const unsigned stripe = (unsigned)hash & (m->stripes.n - 1);
	const struct waitfree_table *t;
	const struct waitfree_entry *e;

	(void)self;
	if (!atomic_load_explicit(stripes_size_of(&m->stripes, stripe), memory_order_acquire))
		return MAP_ABSENT;
	t = atomic_load_explicit(&m->now, memory_order_acquire);
	e = atomic_load_explicit(&t->bucket[hash & (t->buckets - 1)], memory_order_acquire);
	while (e && e->key != key)
		e = e->next;
	for (unsigned i = 0; e && i < m->words; i++)
		value[i] = e->value[i];
	return e ? MAP_PRESENT : MAP_ABSENT;
}

/* A writer's bucket, with its stripe locked; the entry, or NULL. */
struct at {
	unsigned stripe;
	struct waitfree_table *table;
	struct waitfree_entry *_Atomic *bucket;
	struct waitfree_entry *first, *entry;
};

static struct at lock_and_look(struct waitfree *m, const struct worker *self, uint64_t key)
{
	const uint64_t hash = map_hash(key);
	struct at at = { .stripe = (unsigned)hash & (m->stripes.n - 1) };

	stripes_lock(&m->stripes, at.stripe, self->index);
	at.table = atomic_load_explicit(&m->now, memory_order_relaxed);
	at.bucket = &at.table->bucket[hash & (at.table->buckets - 1)];
	at.first = atomic_load_explicit(at.bucket, memory_order_relaxed);
	at.entry = at.first;
	while (at.entry && at.entry->key != key)
		at.entry = at.entry->next;
	return at;
}

/* Copies an entry; the copy is not in a chain yet. NULL: no memory. */
static struct waitfree_entry *copy_entry(struct waitfree *m, struct worker *self,
					 const struct waitfree_entry *e)
{
	struct waitfree_entry *c = entries_take(m->entries, self);

	if (!c)
		return NULL;
	c->key = e->key;
	for (unsigned i = 0; i < m->words; i++)
		c->value[i] = e->value[i];
	return c;
}

/* Copies the entries before at->entry, to be followed by `rest_of`. False: no memory. */
static bool copies_before(struct waitfree *m, struct worker *self, const struct at *at,
			  struct waitfree_entry *rest_of, struct waitfree_entry **chain)
{
	struct waitfree_entry *first = rest_of, *next;

	for (const struct waitfree_entry *e = at->first; e != at->entry; e = e->next) {
		struct waitfree_entry *c = copy_entry(m, self, e);

		if (!c)
			goto none;
		c->next = first;
		first = c;
	}
	*chain = first;
	return true;
none:
	for (; first != rest_of; first = next) {
		next = first->next;
		entries_give(m->entries, self, first);
	}
	return false;
}

/* Publishes the chain, and retires the entries that it replaces: all up to at->entry. */
static void replace(struct waitfree *m, unsigned me, const struct at *at,
		    struct waitfree_entry *chain)
{
	const struct waitfree_entry *behind = at->entry->next;

	atomic_store_explicit(at->bucket, chain, memory_order_release);
	for (struct waitfree_entry *e = at->first; e != behind;) {
		struct waitfree_entry *next = e->next;

		epoch_retire(m->epoch, me, e);
		e = next;
	}
}

/* Under the lock: adds to the stripe's number of entries, and returns it. */
static uint32_t count(struct waitfree *m, unsigned stripe, int more)
{
	_Atomic uint32_t *size = stripes_size_of(&m->stripes, stripe);
	const uint32_t entries = atomic_load_explicit(size, memory_order_relaxed) + (uint32_t)more;

	atomic_store_explicit(size, entries, memory_order_release);
	return entries;
}

/* Puts an entry; to be called with the stripe's lock held. */
static bool put_entry(struct waitfree *m, struct worker *self, const struct at *at, uint64_t key,
		      const uint64_t *value, uint32_t *entries)
{
	struct waitfree_entry *e = entries_take(m->entries, self), *chain;

	if (!e)
		return false;
	e->key = key;
	for (unsigned i = 0; i < m->words; i++)
		e->value[i] = value[i];
	e->next = at->entry ? at->entry->next : at->first;
	if (!at->entry) {
		*entries = count(m, at->stripe, 1);
		atomic_store_explicit(at->bucket, e, memory_order_release);
		return true;
	}
	if (!copies_before(m, self, at, e, &chain)) {
		entries_give(m->entries, self, e);
		return false;
	}
	replace(m, self->index, at, chain);
	return true;
}

/* Entries of a doubling, linked by epoch_link: copies made, and the originals they replace. */
struct split {
	struct waitfree_entry *copies, *originals;
};

static void push(struct waitfree_entry **list, struct waitfree_entry *e)
{
	e->link.next = *list;
	*list = e;
}

/*
 * Bucket b's entries go to b and b + buckets. The longest tail of the chain that goes to one of
 * them is shared by both tables; the entries before it are copied.
 */
static bool split(struct waitfree *m, struct worker *self, struct waitfree_entry *first,
		  size_t buckets, struct waitfree_entry *half[2], struct split *s)
{
	struct waitfree_entry *last = first;

	half[0] = half[1] = NULL;
	if (!first)
		return true;
	for (struct waitfree_entry *e = first; e->next; e = e->next)
		if ((map_hash(e->key) ^ map_hash(e->next->key)) & buckets)
			last = e->next;
	half[!!(map_hash(last->key) & buckets)] = last;
	for (struct waitfree_entry *e = first; e != last; e = e->next) {
		struct waitfree_entry *c = copy_entry(m, self, e),
				      **to = &half[!!(map_hash(e->key) & buckets)];

		if (!c)
			return false;
		c->next = *to;
		*to = c;
		push(&s->copies, c);
		push(&s->originals, e);
	}
	return true;
}

static bool fill_table(struct waitfree *m, struct worker *self, const struct waitfree_table *from,
		       struct waitfree_table *to, struct split *s)
{
	for (size_t i = 0; i < from->buckets; i++) {
		struct waitfree_entry *half[2],
			*first = atomic_load_explicit(&from->bucket[i], memory_order_relaxed);

		if (!split(m, self, first, from->buckets, half, s))
			return false;
		atomic_store_explicit(&to->bucket[i], half[0], memory_order_relaxed);
		atomic_store_explicit(&to->bucket[i + from->buckets], half[1],
				      memory_order_relaxed);
	}
	return true;
}

/* Doubles the table; to be called with all locks held. */
static void double_table(struct waitfree *m, struct worker *self, struct waitfree_table *old)
{
	struct waitfree_table *new = old + 1;
	struct split s = { NULL, NULL };
	bool done;

	new->buckets = 2 * old->buckets;
	new->bucket = (void *)(m->stripes.tables + stripes_table(&m->stripes, new->buckets));
	done = fill_table(m, self, old, new, &s);
	if (done)
		atomic_store_explicit(&m->now, new, memory_order_release);
	for (struct waitfree_entry *e = done ? s.originals : s.copies, *next; e; e = next) {
		next = e->link.next;
		if (done)
			epoch_retire(m->epoch, self->index, e);
		else
			entries_give(m->entries, self, e);
	}
	m->stripes.costs[self->index].growths += done;
	/*
	 * A failed attempt costs as much as this many insertions, so attempts together cost no
	 * more than the insertions between them.
	 */
	atomic_store_explicit(&m->patience, done ? 0 : old->buckets, memory_order_relaxed);
}

/*
 * Doubles the table, unless another thread has doubled it since it was `old`. Without memory it
 * stays as it is.
 */
static void grow(struct waitfree *m, struct worker *self, struct waitfree_table *old)
{
	const uint64_t began = clock_ticks();

	stripes_lock_all(&m->stripes, self->index);
	if (atomic_load_explicit(&m->now, memory_order_relaxed) == old) {
		double_table(m, self, old);
		m->stripes.costs[self->index].grown += clock_ticks() - began;
	}
	stripes_unlock_all(&m->stripes);
}

static bool is_time_to_grow(struct waitfree *m)
{
	const size_t patience = atomic_load_explicit(&m->patience, memory_order_relaxed);

	if (patience)
		atomic_store_explicit(&m->patience, patience - 1, memory_order_relaxed);
	return !patience;
}

static enum map_answer put(struct waitfree *m, struct worker *self, uint64_t key,
			   const uint64_t *value, bool update)
{
	const struct at at = lock_and_look(m, self, key);
	enum map_answer answer = at.entry ? MAP_PRESENT : MAP_ABSENT;
	uint32_t entries = 0;

	if ((update || !at.entry) && !put_entry(m, self, &at, key, value, &entries))
		answer = MAP_NO_MEMORY;
	stripes_unlock(&m->stripes, at.stripe);
	if (stripes_are_full(&m->stripes, entries, at.table->buckets) && is_time_to_grow(m))
		grow(m, self, at.table);
	return answer;
}

static enum map_answer take_out(struct waitfree *m, struct worker *self, uint64_t key)
{
	const struct at at = lock_and_look(m, self, key);
	enum map_answer answer = at.entry ? MAP_PRESENT : MAP_ABSENT;
	struct waitfree_entry *chain;

	if (at.entry && !copies_before(m, self, &at, at.entry->next, &chain))
		answer = MAP_NO_MEMORY;
	if (answer == MAP_PRESENT) {
		replace(m, self->index, &at, chain);
		count(m, at.stripe, -1);
	}
	stripes_unlock(&m->stripes, at.stripe);
	return answer;
}

/*
 * A writer that finds no memory waits for readers to release retired entries, without its lock and
 * for a bounded time. Returns whether to try again.
 */
static bool again(struct waitfree *m, struct worker *self, enum map_answer answer)
{
	if (answer != MAP_NO_MEMORY)
		return false;
	if (epoch_await(m->epoch, self))
		return true;
	pool_used_up(m->entries->pool, self, m->entries->bytes);
	return false;
}

static enum map_answer insert(void *map, struct worker *self, uint64_t key, const uint64_t *value)
{
	enum map_answer answer;

	do
		answer = put(map, self, key, value, false);
	while (again(map, self, answer));
	return answer;
}

static enum map_answer upsert(void *map, struct worker *self, uint64_t key, const uint64_t *value)
{
	enum map_answer answer;

	do
		answer = put(map, self, key, value, true);
	while (again(map, self, answer));
	return answer;
}

static enum map_answer remove_key(void *map, struct worker *self, uint64_t key)
{
	enum map_answer answer;

	do
		answer = take_out(map, self, key);
	while (again(map, self, answer));
	return answer;
}

/* Visits the table that is current when it starts. */
static void each(void *map, struct worker *self, void (*visit)(void *, uint64_t, const uint64_t *),
		 void *argument)
{
	struct waitfree *m = map;
	const struct waitfree_table *t = atomic_load_explicit(&m->now, memory_order_acquire);

	(void)self;
	for (size_t i = 0; i < t->buckets; i++)
		for (const struct waitfree_entry *e =
			     atomic_load_explicit(&t->bucket[i], memory_order_acquire);
		     e; e = e->next)
			visit(argument, e->key, e->value);
}

static uint64_t size(const void *map)
{
	return stripes_size(&((const struct waitfree *)map)->stripes);
}

/*
 * All tables so far, since readers may be in an old one. Without reclamation, all entries ever
 * taken.
 */
static size_t bytes(const void *map)
{
	const struct waitfree *m = map;
	const struct waitfree_table *t = atomic_load_explicit(&m->now, memory_order_relaxed);
	const size_t tables = stripes_used(&m->stripes, 2 * t->buckets - m->stripes.first);
	size_t taken = 0;

	if (m->epoch->reclaim)
		return tables + (size(m) + epoch_kept(m->epoch)) * m->entries->bytes;
	for (unsigned i = 0; i < m->epoch->threads; i++)
		taken += pool_taken(m->entries->pool, i);
	return tables + taken;
}

const struct map_kind waitfree_map = { .shared = stripes_bytes,
				       .own = own,
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
				       .size = size,
				       .bytes = bytes };
