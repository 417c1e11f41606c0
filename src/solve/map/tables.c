/* SPDX-License-Identifier: Apache-2.0 */
#include "solve/map/tables.h"

struct table *tables_open(struct cmap *m, size_t homes, size_t reserved, size_t overflow)
{
	struct table *t = table_new(&m->memory, homes, reserved, overflow);

	if (t)
		atomic_fetch_add_explicit(&m->bytes, table_bytes(t), memory_order_relaxed);
	return t;
}

void tables_close(struct cmap *m, struct table *t)
{
	if (t)
		atomic_fetch_sub_explicit(&m->bytes, table_bytes(t), memory_order_relaxed);
	table_free(&m->memory, t);
}

static struct table *named(struct cmap_handle *h, unsigned i)
{
	return atomic_load_explicit(&h->name[i], memory_order_relaxed);
}

static void set_name(struct cmap_handle *h, unsigned i, struct table *t)
{
	atomic_store_explicit(&h->name[i], t, memory_order_seq_cst);
}

struct table *tables_renew(struct cmap_handle *h)
{
	struct cmap *m = h->map;
	struct table *t;
	unsigned i;

	for (;;) {
		t = atomic_load_explicit(&m->current, memory_order_seq_cst);
		i = t == named(h, 1);
		if (named(h, i) == t)
			break;
		set_name(h, i, t);
		if (atomic_load_explicit(&m->current, memory_order_seq_cst) == t)
			break;
	}
	h->table = t;
	set_name(h, !i, NULL);
	tables_give_back(m);
	return t;
}

struct table *tables_follow(struct cmap_handle *h, struct table *t)
{
	struct table *next = atomic_load_explicit(&t->next, memory_order_acquire), *current;
	const unsigned i = t == named(h, 0); /* the other name */

	if (next == named(h, i))
		return next;
	/* the table may lose its name below: the next operation renews both */
	h->table = &h->map->none;
	set_name(h, i, next);
	/*
	 * While t or its next table is the current one, the next table has not been replaced. Later
	 * it may have been freed before this handle named it.
	 */
	current = atomic_load_explicit(&h->map->current, memory_order_seq_cst);
	if (current == t || current == next)
		return next;
	set_name(h, i, NULL);
	return NULL;
}

static bool is_named(struct cmap *m, const struct table *t)
{
	struct cmap_handle *h = atomic_load_explicit(&m->handles, memory_order_seq_cst);

	for (; h; h = h->next)
		for (unsigned i = 0; i < 2; i++)
			if (atomic_load_explicit(&h->name[i], memory_order_seq_cst) == t)
				return true;
	return false;
}

static void let_wait(struct cmap *m, struct table *t)
{
	t->waiting = atomic_load_explicit(&m->waiting, memory_order_relaxed);
	while (!atomic_compare_exchange_weak_explicit(&m->waiting, &t->waiting, t,
						      memory_order_release, memory_order_relaxed))
		;
}

/* Takes the whole list: if this thread stops here it delays only those tables, and nobody waits. */
void tables_give_back(struct cmap *m)
{
	struct table *t, *next;

	if (!atomic_load_explicit(&m->waiting, memory_order_relaxed))
		return;
	for (t = atomic_exchange_explicit(&m->waiting, NULL, memory_order_acq_rel); t; t = next) {
		next = t->waiting;
		if (is_named(m, t))
			let_wait(m, t);
		else
			tables_close(m, t);
	}
}

/* Makes the next table, to which everything in `t` has been moved, the current one. */
static void replace(struct cmap_handle *h, struct table *t)
{
	struct cmap *m = h->map;
	struct table *next = atomic_load_explicit(&t->next, memory_order_acquire);

	atomic_store_explicit(&next->settled, true, memory_order_release);
	atomic_store_explicit(&m->current, next, memory_order_seq_cst);
	let_wait(m, t);
	tables_renew(h);
}

void tables_leave(struct cmap_handle *h)
{
	h->table = &h->map->none;
	set_name(h, 0, NULL);
	set_name(h, 1, NULL);
	tables_give_back(h->map);
}

enum { UNITS_AT_ONCE = 32 };

/*
 * A unit is the smallest part of a table that is moved separately: the homes of one table that the
 * hash maps to one home of the other. Until a unit is moved, only the thread that moves it uses its
 * homes in the next table.
 */
static size_t units(const struct table *t, const struct table *next)
{
	return t->homes < next->homes ? t->homes : next->homes;
}

/*
 * Fills a free slot of the home, else of the chain's first bucket, else of a new bucket before
 * that.
 */
static void put(struct table *to, uint64_t hash, uint64_t key, uint64_t value)
{
	struct bucket *home = table_home(to, hash), *b = home;
	uint64_t chain = bucket_load(&home->chain), word = bucket_load(&b->word);

	if (!bucket_free(word) && bucket_next(chain)) {
		b = &to->bucket[bucket_next(chain)];
		word = bucket_load(&b->word);
	}
	if (!bucket_free(word)) {
		const uint32_t index = table_take_reserved(to);

		bucket_store(&home->word, bucket_load(&home->word) | BUCKET_CHAINED);
		b = &to->bucket[index];
		word = 0;
		bucket_store(&b->chain, bucket_next(chain));
		chain = (chain & ~(uint64_t)UINT32_MAX) | index;
	}
	if (b != home)
		bucket_store(&home->chain, chain | bucket_tag(hash));
	bucket_fill(b, bucket_first(bucket_free(word)), key, value);
	bucket_store(&b->word, word | bucket_free(word));
}

static void put_chain(struct cmap_handle *h, struct table *from, struct table *to, struct bucket *b)
{
	for (;;) {
		const uint64_t word = bucket_load(&b->word);
		const uint32_t next = bucket_next(bucket_load(&b->chain));

		for (uint64_t slots = word & BUCKET_USED; slots; slots &= slots - 1) {
			const size_t s = bucket_first(slots);
			const uint64_t key = bucket_load(&b->key[s]);

			put(to, table_hash(h->seed, key), key, bucket_load(&b->value[s]));
		}
		if (!next)
			return;
		b = &from->bucket[next];
	}
}

/*
 * Readers use the old homes until these say that they have been moved. By then the next table has
 * been written (release), and old homes no longer change.
 */
static void move_unit(struct cmap_handle *h, struct table *t, struct table *next, size_t unit)
{
	const size_t homes = t->homes / units(t, next);
	struct bucket *home = &t->bucket[unit * homes];
	uint64_t word[2];

	for (size_t i = 0; i < homes; i++) {
		word[i] = bucket_lock(&home[i], &h->costs.waited);
		if (word[i] & BUCKET_MOVED)
			return; /* another thread has moved the whole unit */
	}
	for (size_t i = 0; i < homes; i++)
		put_chain(h, t, next, &home[i]);
	for (size_t i = 0; i < homes; i++)
		bucket_unlock_changed(&home[i], (word[i] & ~BUCKET_USED) | BUCKET_MOVED);
}

static void move_units(struct cmap_handle *h, struct table *t)
{
	struct table *next = tables_follow(h, t);
	size_t first, end, all;

	/*
	 * Once t has been replaced, everything in it has been moved, and a newer table may have the
	 * address of its next one. While t is the current table, its next one is not freed.
	 */
	if (!next || atomic_load_explicit(&h->map->current, memory_order_seq_cst) != t)
		return;
	all = units(t, next);
	first = atomic_fetch_add_explicit(&t->claimed, UNITS_AT_ONCE, memory_order_relaxed);
	if (first >= all)
		return;
	end = all - first < UNITS_AT_ONCE ? all : first + UNITS_AT_ONCE;
	for (size_t i = first; i < end; i++)
		move_unit(h, t, next, i);
	/*
	 * Acquire and release: the thread that moves the last unit publishes what all threads have
	 * moved.
	 */
	if (atomic_fetch_add_explicit(&t->moved, end - first, memory_order_acq_rel) + end - first ==
	    all) {
		h->costs.growths += next->homes > t->homes;
		replace(h, t);
	}
}

void tables_move(struct cmap_handle *h, struct table *t)
{
	uint64_t began;

	if (!atomic_load_explicit(&t->next, memory_order_acquire) ||
	    atomic_load_explicit(&t->claimed, memory_order_relaxed) >= t->homes)
		return;
	began = clock_ticks();
	move_units(h, t);
	h->costs.moving += clock_ticks() - began;
}

/*
 * Reserves all overflow buckets that moving can need. If a unit's home stays one or becomes two, it
 * needs no more than in this table; if two homes become one, one more than both together.
 */
static struct table *open_next(struct cmap *m, struct table *t, size_t homes)
{
	const size_t in_use = table_shut(t), reserved = in_use + (homes < t->homes ? homes : 0),
		     usual = homes / TABLES_HOMES_OF_OVERFLOW,
		     overflow = usual < in_use ? in_use : usual;
	struct table *next = tables_open(m, homes, reserved, overflow);

	if (!next)
		table_reopen(t);
	return next;
}

/* False: no memory, and nothing has changed. True even if there was nothing to begin. */
static bool begin(struct cmap_handle *h, struct table *t, size_t homes)
{
	struct cmap *m = h->map;
	bool good = true;

	/* Acquire: pairs with the thread that set the next table. */
	if (atomic_exchange_explicit(&m->beginning, true, memory_order_acquire))
		return true;
	if (atomic_load_explicit(&m->current, memory_order_acquire) == t &&
	    !atomic_load_explicit(&t->next, memory_order_relaxed)) {
		const uint64_t began = clock_ticks();
		struct table *next = open_next(m, t, homes);

		good = next;
		if (next)
			atomic_store_explicit(&t->next, next, memory_order_release);
		h->costs.moving += clock_ticks() - began;
	}
	atomic_store_explicit(&m->beginning, false, memory_order_release);
	return good;
}

bool tables_make_room(struct cmap_handle *h, struct table *t, uint64_t hash)
{
	struct table *next = atomic_load_explicit(&t->next, memory_order_acquire);

	if (next) {
		const uint64_t began = clock_ticks();

		next = tables_follow(h, t);
		if (next)
			move_unit(h, t, next, table_index(t, hash) / (t->homes / units(t, next)));
		h->costs.moving += clock_ticks() - began;
		return true;
	}
	if (atomic_load_explicit(&h->map->current, memory_order_acquire) == t)
		return begin(h, t, t->homes);
	/*
	 * Table t is still being filled from the current one: only afterwards can it get a larger
	 * one.
	 */
	tables_move(h, tables_enter(h));
	return true;
}

void tables_count(struct cmap_handle *h)
{
	struct cmap *m = h->map;
	struct table *t = tables_enter(h);
	const long pending = atomic_load_explicit(&h->pending, memory_order_relaxed),
		   keys = atomic_fetch_add_explicit(&m->keys, pending, memory_order_relaxed) +
			  pending;

	atomic_store_explicit(&h->pending, 0, memory_order_relaxed);
	if (atomic_load_explicit(&t->next, memory_order_relaxed))
		return;
	/* Without memory the table stays as it is, and its chains grow. */
	if (keys > (long)(t->homes * TABLES_MOST_KEYS))
		begin(h, t, 2 * t->homes);
	else if (keys < (long)(t->homes / TABLES_MOST_HOMES) && t->homes > m->least)
		begin(h, t, t->homes / 2);
}
