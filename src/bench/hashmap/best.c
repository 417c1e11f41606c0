/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/hashmap/best.h"
#include "bench/hashmap/best_chain.h"
#include "bench/hashmap/best_move.h"

enum {
	COUNTED_AT_ONCE = 32, /* changes of the number of keys that a handle has to itself */
	AHEAD = 16,	      /* operations whose lines are on their way */
	AGAIN = -2,
	SPINS = 1 << 8,
};

static inline bool find(struct best_handle *h, uint64_t key, uint64_t hash, uint64_t *value)
{
	struct best_table *t = tables_enter(h);

	for (;;) {
		struct best_bucket *b = table_home(t, hash);
		const uint64_t word = bucket_load(&b->word), found = bucket_match(b, word, key);

		if (__builtin_expect(!!(word & BEST_MOVED), 0)) {
			t = tables_follow(h, t);
			if (!t)
				t = tables_enter(h);
		} else if (found) {
			*value = bucket_load(&b->slot[bucket_first(found)].value);
			if (bucket_unchanged(b, word))
				return true;
		} else {
			const int there = chain_look(t, b, word, key, hash, value);

			if (there >= 0)
				return there;
		}
	}
}

bool best_find(struct best_handle *h, uint64_t key, uint64_t *value)
{
	return find(h, key, best_hash(h->seed, key), value);
}

/* Locks the home of a hash, in the table where it is now. NULL: begin anew. */
static inline struct best_bucket *lock_home(struct best_handle *h, struct best_table **t,
					    uint64_t hash, uint64_t *word)
{
	*t = tables_enter(h);
	if (__builtin_expect(!!atomic_load_explicit(&(*t)->next, memory_order_relaxed), 0)) {
		move_some(h, *t);
		*t = tables_enter(h);
	}
	while (*t) {
		struct best_bucket *b = table_home(*t, hash);

		*word = bucket_lock(b);
		if (__builtin_expect(!(*word & BEST_MOVED), 1))
			return b;
		*t = tables_follow(h, *t);
	}
	return NULL;
}

static inline void count(struct best_handle *h, int change)
{
	const long pending = atomic_load_explicit(&h->pending, memory_order_relaxed) + change;

	atomic_store_explicit(&h->pending, pending, memory_order_relaxed);
	if (__builtin_expect(pending >= COUNTED_AT_ONCE || pending <= -COUNTED_AT_ONCE, 0))
		move_count(h);
}

static inline struct best_place find_locked(struct best_table *t, struct best_bucket *b,
					    uint64_t word, uint64_t key, uint64_t hash)
{
	const uint64_t found = bucket_match(b, word, key);

	if (found)
		return (struct best_place){ b, bucket_first(found) };
	return chain_find(t, b, key, hash);
}

static inline int try_put(struct best_handle *h, uint64_t key, uint64_t value, uint64_t hash,
			  bool replace)
{
	struct best_table *t;
	uint64_t word, free;
	struct best_bucket *b = lock_home(h, &t, hash, &word);
	struct best_place at;

	if (!b)
		return AGAIN;
	at = find_locked(t, b, word, key, hash);
	if (at.bucket) {
		if (replace)
			bucket_store(&at.bucket->slot[at.slot].value, value);
		bucket_unlock(b, word);
		return 0;
	}
	free = ~word & BEST_USED;
	if (free) {
		bucket_fill(b, bucket_first(free), key, value);
		bucket_unlock_changed(b, word | (free & -free));
	} else if (chain_insert(t, b, key, value, hash)) {
		bucket_unlock_changed(b, word);
	} else {
		bucket_unlock(b, word);
		return move_make_room(h, t, hash) ? AGAIN : -1;
	}
	count(h, 1);
	return 1;
}

static inline int put(struct best_handle *h, uint64_t key, uint64_t value, uint64_t hash,
		      bool replace)
{
	for (unsigned turn = 0;; relax(turn++, SPINS)) {
		const int result = try_put(h, key, value, hash, replace);

		if (__builtin_expect(result != AGAIN, 1))
			return result;
	}
}

int best_insert(struct best_handle *h, uint64_t key, uint64_t value)
{
	return put(h, key, value, best_hash(h->seed, key), false);
}

int best_upsert(struct best_handle *h, uint64_t key, uint64_t value)
{
	return put(h, key, value, best_hash(h->seed, key), true);
}

static inline bool take(struct best_handle *h, uint64_t key, uint64_t hash, uint64_t *value)
{
	struct best_table *t;
	struct best_bucket *b;
	struct best_place at;
	uint64_t word;

	while (!(b = lock_home(h, &t, hash, &word)))
		;
	at = find_locked(t, b, word, key, hash);
	if (!at.bucket) {
		bucket_unlock(b, word);
		return false;
	}
	*value = atomic_load_explicit(&at.bucket->slot[at.slot].value, memory_order_relaxed);
	if (bucket_next(bucket_load(&b->chain)))
		chain_remove(t, b, word, at);
	else
		bucket_unlock_changed(b, word & ~(UINT64_C(1) << at.slot));
	count(h, -1);
	return true;
}

bool best_remove(struct best_handle *h, uint64_t key, uint64_t *value)
{
	return take(h, key, best_hash(h->seed, key), value);
}

static inline void operate(struct best_handle *h, struct best_operation *o, uint64_t hash)
{
	switch (o->kind) {
	case BEST_FIND:
		o->result = find(h, o->key, hash, &o->value);
		break;
	case BEST_INSERT:
	case BEST_UPSERT:
		o->result = put(h, o->key, o->value, hash, o->kind == BEST_UPSERT);
		break;
	case BEST_REMOVE:
		o->result = take(h, o->key, hash, &o->value);
		break;
	}
}

/* A hint, of where the home is if the table stays. */
static inline uint64_t fetch(struct best_handle *h, const struct best_operation *o)
{
	const uint64_t hash = best_hash(h->seed, o->key);
	const struct best_bucket *b = table_home(tables_enter(h), hash);

	if (o->kind == BEST_FIND)
		__builtin_prefetch(b);
	else
		bucket_fetch_own(b);
	return hash;
}

void best_batch(struct best_handle *h, struct best_operation *operation, size_t n)
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
