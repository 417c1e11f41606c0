/* SPDX-License-Identifier: Apache-2.0 */
#include "solve/map/cmap.h"
#include "solve/map/table.h"
#include "solve/map/tables.h"

enum {
	AHEAD = 16, /* how many operations ahead lines are prefetched */
	AGAIN = -2,
	SPINS = 1 << 8,
};

/* The slow path: the bucket has a chain, has been moved, or is changing. */
static __attribute__((noinline)) bool find_again(struct cmap_handle *h, uint64_t key, uint64_t hash,
						 uint64_t *value)
{
	struct table *t = tables_enter(h);

	for (;;) {
		struct bucket *b = table_home(t, hash);
		const uint64_t word = bucket_load(&b->word), found = bucket_match(b, word, key);

		if (__builtin_expect(!!(word & BUCKET_MOVED), 0)) {
			t = tables_follow(h, t);
			if (!t)
				t = tables_enter(h);
		} else if (found) {
			*value = bucket_load(&b->value[bucket_first(found)]);
			if (bucket_unchanged(b, word))
				return true;
		} else {
			const int there = table_chain_look(t, b, word, key, hash, value);

			if (there >= 0)
				return there;
		}
	}
}

/*
 * The fast path: the key is in its home bucket, or that has no chain. The slow path is a function
 * of its own, so that this one needs few registers.
 */
static inline bool find(struct cmap_handle *h, uint64_t key, uint64_t hash, uint64_t *value)
{
	struct bucket *b = table_home(h->table, hash);
	uint64_t word, found;

	__builtin_prefetch(b->value);
	word = bucket_load(&b->word);
	found = bucket_match(b, word, key);
	if (__builtin_expect(!!found, 1)) {
		*value = bucket_load(&b->value[bucket_first(found)]);
		if (__builtin_expect(bucket_same(b, word), 1))
			return true;
	} else if (__builtin_expect(
			   !(word & (BUCKET_MOVED | BUCKET_CHAINED)) && bucket_same(b, word), 1)) {
		return false;
	}
	return find_again(h, key, hash, value);
}

bool cmap_find(struct cmap_handle *h, uint64_t key, uint64_t *value)
{
	return find(h, key, table_hash(h->seed, key), value);
}

/* A locked home bucket, and the bit of the slot that has the key; 0: none. */
struct locked {
	struct table *table;
	struct bucket *home; /* NULL: begin anew */
	uint64_t word, found;
};

/* The slow path: the table is being moved, or another writer has the lock. */
static __attribute__((noinline)) struct locked wait_for_home(struct cmap_handle *h, uint64_t key,
							     uint64_t hash)
{
	struct table *t = tables_enter(h);

	if (atomic_load_explicit(&t->next, memory_order_relaxed)) {
		tables_move(h, t);
		t = tables_enter(h);
	}
	while (t) {
		struct bucket *b = table_home(t, hash);
		const uint64_t word = bucket_lock(b, &h->costs.waited);

		if (!(word & BUCKET_MOVED))
			return (struct locked){ t, b, word, bucket_match(b, word, key) };
		t = tables_follow(h, t);
	}
	return (struct locked){ 0 };
}

/*
 * Looks for the key first, then locks the home if its word is unchanged: a search after the atomic
 * exchange would have to wait for it. Prefetches the lines for writing at once, so that they are
 * not fetched twice.
 */
static inline struct locked lock_home(struct cmap_handle *h, uint64_t key, uint64_t hash)
{
	struct table *t = h->table;
	struct bucket *b;
	uint64_t word, found;

	if (__builtin_expect(!!atomic_load_explicit(&t->next, memory_order_relaxed), 0))
		return wait_for_home(h, key, hash);
	b = table_home(t, hash);
	bucket_fetch_own(b->key);
	bucket_fetch_own(b->value);
	word = bucket_load(&b->word);
	found = bucket_match(b, word, key);
	if (__builtin_expect(bucket_try_lock(b, word), 1))
		return (struct locked){ t, b, word | BUCKET_LOCK, found };
	return wait_for_home(h, key, hash);
}

static inline void count(struct cmap_handle *h, int change)
{
	const long pending = atomic_load_explicit(&h->pending, memory_order_relaxed) + change;

	atomic_store_explicit(&h->pending, pending, memory_order_relaxed);
	if (__builtin_expect(pending >= CMAP_UNCOUNTED || pending <= -CMAP_UNCOUNTED, 0))
		tables_count(h);
}

/* Inserts a key that is not in its home, whose slots are all in use. */
static __attribute__((noinline)) int put_in_chain(struct cmap_handle *h, struct locked l,
						  uint64_t key, uint64_t value, uint64_t hash,
						  bool replace)
{
	const struct table_place at = table_chain_find(l.table, l.home, key, hash);

	if (at.bucket) {
		if (replace)
			bucket_store(&at.bucket->value[at.slot], value);
		bucket_unlock(l.home, l.word);
		return 0;
	}
	if (table_chain_insert(l.table, l.home, key, value, hash)) {
		bucket_unlock_changed(l.home, l.word | BUCKET_CHAINED);
		count(h, 1);
		return 1;
	}
	bucket_unlock(l.home, l.word);
	return tables_make_room(h, l.table, hash) ? AGAIN : -1;
}

static inline int try_put(struct cmap_handle *h, uint64_t key, uint64_t value, uint64_t hash,
			  bool replace)
{
	const struct locked l = lock_home(h, key, hash);
	const uint64_t free = bucket_free(l.word);

	if (l.found) {
		if (replace)
			bucket_store(&l.home->value[bucket_first(l.found)], value);
		bucket_unlock(l.home, l.word);
		return 0;
	}
	if (!l.home)
		return AGAIN;
	if (!free)
		return put_in_chain(h, l, key, value, hash, replace);
	bucket_fill(l.home, bucket_first(free), key, value);
	bucket_unlock_changed(l.home, l.word | free);
	count(h, 1);
	return 1;
}

static __attribute__((noinline)) int put_again(struct cmap_handle *h, uint64_t key, uint64_t value,
					       uint64_t hash, bool replace)
{
	return try_put(h, key, value, hash, replace);
}

static inline int put(struct cmap_handle *h, uint64_t key, uint64_t value, uint64_t hash,
		      bool replace)
{
	int result = try_put(h, key, value, hash, replace);

	for (unsigned turn = 0; __builtin_expect(result == AGAIN, 0); turn++) {
		relax(turn, SPINS);
		result = put_again(h, key, value, hash, replace);
	}
	return result;
}

int cmap_insert(struct cmap_handle *h, uint64_t key, uint64_t value)
{
	return put(h, key, value, table_hash(h->seed, key), false);
}

int cmap_upsert(struct cmap_handle *h, uint64_t key, uint64_t value)
{
	return put(h, key, value, table_hash(h->seed, key), true);
}

static inline bool take(struct cmap_handle *h, uint64_t key, uint64_t hash, uint64_t *value)
{
	struct locked l;
	struct table_place at;

	do
		l = lock_home(h, key, hash);
	while (!l.home);
	at = (struct table_place){ l.home, l.found ? bucket_first(l.found) : 0 };
	if (!l.found)
		at = table_chain_find(l.table, l.home, key, hash);
	if (!at.bucket) {
		bucket_unlock(l.home, l.word);
		return false;
	}
	*value = atomic_load_explicit(&at.bucket->value[at.slot], memory_order_relaxed);
	if (l.word & BUCKET_CHAINED)
		table_chain_remove(l.table, l.home, l.word, at);
	else
		bucket_unlock_changed(l.home, l.word & ~(UINT64_C(1) << at.slot));
	count(h, -1);
	return true;
}

bool cmap_remove(struct cmap_handle *h, uint64_t key, uint64_t *value)
{
	return take(h, key, table_hash(h->seed, key), value);
}

static inline void operate(struct cmap_handle *h, struct cmap_operation *o, uint64_t hash)
{
	switch (o->kind) {
	case CMAP_FIND:
		o->result = find(h, o->key, hash, &o->value);
		break;
	case CMAP_INSERT:
	case CMAP_UPSERT:
		o->result = put(h, o->key, o->value, hash, o->kind == CMAP_UPSERT);
		break;
	case CMAP_REMOVE:
		o->result = take(h, o->key, hash, &o->value);
		break;
	}
}

/* Prefetches the home, in vain if the table is replaced meanwhile. Returns the hash. */
static inline uint64_t fetch(struct cmap_handle *h, const struct cmap_operation *o)
{
	const uint64_t hash = table_hash(h->seed, o->key);
	const struct bucket *b = table_home(tables_enter(h), hash);

	if (o->kind == CMAP_FIND) {
		__builtin_prefetch(b->key);
		__builtin_prefetch(b->value);
	} else {
		bucket_fetch_own(b->key);
		bucket_fetch_own(b->value);
	}
	return hash;
}

void cmap_batch(struct cmap_handle *h, struct cmap_operation *operation, size_t n)
{
	uint64_t hash[AHEAD];

	for (size_t i = 0; i < n && i < AHEAD; i++)
		hash[i] = fetch(h, &operation[i]);
	for (size_t i = 0; i < n; i++) {
		const uint64_t now = hash[i % AHEAD];

		if (i + AHEAD < n)
			hash[i % AHEAD] = fetch(h, &operation[i + AHEAD]);
		operate(h, &operation[i], now);
	}
}
