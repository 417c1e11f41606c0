/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdlib.h>

#include "base/arithmetic.h"
#include "solve/map/table.h"

#define CLOSED (UINT64_C(1) << 63)

/* Rounded up to 64 KiB, or to huge pages if the table is that large. */
size_t table_bytes_of(size_t buckets)
{
	const size_t bytes = buckets * sizeof(struct bucket),
		     page = bytes < TABLE_HUGE_PAGE ? (size_t)64 << 10 : TABLE_HUGE_PAGE;

	return round_up(bytes, page);
}

size_t table_bytes(const struct table *t)
{
	return table_bytes_of(t->buckets);
}

struct table *table_new(const struct cmap_memory *memory, size_t homes, size_t reserved,
			size_t overflow)
{
	struct table *t;

	if (homes + reserved + overflow > UINT32_MAX) {
		errno = ENOMEM;
		return NULL;
	}
	t = apart_alloc(sizeof(*t));
	if (!t)
		return NULL;
	t->homes = homes;
	t->reserved = reserved;
	t->buckets = homes + reserved + overflow;
	t->fresh_reserved = (uint32_t)homes;
	t->fresh = (uint32_t)(homes + reserved);
	t->bucket = memory->take(memory->from, table_bytes(t));
	if (!t->bucket) {
		free(t);
		errno = ENOMEM;
		return NULL;
	}
	return t;
}

void table_free(const struct cmap_memory *memory, struct table *t)
{
	if (!t)
		return;
	memory->give(memory->from, t->bucket, table_bytes(t));
	free(t);
}

/* Takes a freed bucket; 0: none. The taker sees everything that happened before it was freed. */
static uint32_t take_used(struct table *t)
{
	uint64_t head = bucket_load(&t->free), rest;

	do {
		const uint32_t first = (uint32_t)head;

		if (!first)
			return 0;
		/* If another thread has taken it, the exchange fails: the head's count differs. */
		rest = bucket_next(bucket_load(&t->bucket[first].chain)) | ((head >> 32) + 1) << 32;
	} while (!atomic_compare_exchange_weak_explicit(&t->free, &head, rest, memory_order_acq_rel,
							memory_order_acquire));
	return (uint32_t)head;
}

static uint32_t take_fresh(_Atomic uint32_t *fresh, size_t end)
{
	uint32_t next = atomic_load_explicit(fresh, memory_order_relaxed);

	do {
		if (next >= end)
			return 0;
	} while (!atomic_compare_exchange_weak_explicit(
		fresh, &next, next + 1, memory_order_relaxed, memory_order_relaxed));
	return next;
}

/* Index of an overflow bucket with empty slots; 0: none is left, or the table is closed. */
static uint32_t take(struct table *t)
{
	uint64_t in_use = atomic_load_explicit(&t->in_use, memory_order_relaxed);
	uint32_t taken;

	do {
		if (in_use & CLOSED)
			return 0;
	} while (!atomic_compare_exchange_weak_explicit(
		&t->in_use, &in_use, in_use + 1, memory_order_relaxed, memory_order_relaxed));
	taken = take_used(t);
	if (!taken)
		taken = take_fresh(&t->fresh, t->buckets);
	if (!taken && atomic_load_explicit(&t->settled, memory_order_acquire))
		taken = take_fresh(&t->fresh_reserved, t->homes + t->reserved);
	if (!taken)
		atomic_fetch_sub_explicit(&t->in_use, 1, memory_order_relaxed);
	return taken;
}

uint32_t table_take_reserved(struct table *t)
{
	atomic_fetch_add_explicit(&t->in_use, 1, memory_order_relaxed);
	return take_fresh(&t->fresh_reserved, t->homes + t->reserved);
}

static void give(struct table *t, uint32_t bucket)
{
	uint64_t head = atomic_load_explicit(&t->free, memory_order_relaxed), first;

	do {
		bucket_store(&t->bucket[bucket].chain, (uint32_t)head);
		first = bucket | ((head >> 32) + 1) << 32;
	} while (!atomic_compare_exchange_weak_explicit(
		&t->free, &head, first, memory_order_acq_rel, memory_order_relaxed));
	atomic_fetch_sub_explicit(&t->in_use, 1, memory_order_relaxed);
}

size_t table_shut(struct table *t)
{
	return (size_t)(atomic_fetch_or_explicit(&t->in_use, CLOSED, memory_order_relaxed) &
			~CLOSED);
}

void table_reopen(struct table *t)
{
	atomic_fetch_and_explicit(&t->in_use, ~CLOSED, memory_order_relaxed);
}

static struct bucket *following(struct table *t, struct bucket *b)
{
	const uint32_t next = bucket_next(bucket_load(&b->chain));

	return next ? &t->bucket[next] : NULL;
}

struct table_place table_chain_find(struct table *t, struct bucket *home, uint64_t key,
				    uint64_t hash)
{
	struct bucket *b = home;

	if (!(bucket_load(&home->chain) & bucket_tag(hash)))
		return (struct table_place){ 0 };
	while ((b = following(t, b))) {
		const uint64_t found = bucket_match(b, bucket_load(&b->word), key);

		if (found)
			return (struct table_place){ b, bucket_first(found) };
	}
	return (struct table_place){ 0 };
}

/*
 * The key is inserted by the store of the overflow bucket's word or, with a new bucket, of the
 * home's chain: every later reader finds it. The tag is set before, since readers skip a chain
 * without it.
 */
bool table_chain_insert(struct table *t, struct bucket *home, uint64_t key, uint64_t value,
			uint64_t hash)
{
	const uint64_t chain = bucket_load(&home->chain),
		       tags = (chain >> 32 << 32) | bucket_tag(hash);
	uint32_t taken;

	for (struct bucket *b = home; (b = following(t, b));) {
		const uint64_t word = bucket_load(&b->word), free = bucket_free(word);

		if (!free)
			continue;
		bucket_fill(b, bucket_first(free), key, value);
		bucket_store(&home->chain, tags | bucket_next(chain));
		bucket_store(&b->word, word | free);
		return true;
	}
	taken = take(t);
	if (!taken)
		return false;
	bucket_fill(&t->bucket[taken], 1, key, value);
	bucket_store(&t->bucket[taken].chain, bucket_next(chain));
	bucket_store(&t->bucket[taken].word, UINT64_C(1) << 1);
	bucket_store(&home->chain, tags | taken);
	return true;
}

/* Takes a bucket off the chain. Tags stay until the chain is empty. */
static uint32_t take_off(struct table *t, struct bucket *home, struct bucket *b)
{
	const uint64_t chain = bucket_load(&home->chain);
	const uint32_t next = bucket_next(bucket_load(&b->chain));
	struct bucket *before = home;

	while (following(t, before) != b)
		before = following(t, before);
	if (before != home)
		bucket_store(&before->chain, next);
	else
		bucket_store(&home->chain, next ? (chain >> 32 << 32) | next : 0);
	return (uint32_t)(b - t->bucket);
}

void table_chain_remove(struct table *t, struct bucket *home, uint64_t word, struct table_place at)
{
	uint32_t empty = 0;

	if (at.bucket == home) {
		struct bucket *from = following(t, home);
		const size_t slot = bucket_first(bucket_load(&from->word));

		/* Hides the slot from readers, fills it, and publishes it. */
		word = bucket_publish(home, word & ~(UINT64_C(1) << at.slot));
		bucket_fill(home, at.slot, bucket_load(&from->key[slot]),
			    bucket_load(&from->value[slot]));
		word = bucket_publish(home, word | UINT64_C(1) << at.slot);
		at = (struct table_place){ from, slot };
	}
	bucket_store(&at.bucket->word, bucket_load(&at.bucket->word) & ~(UINT64_C(1) << at.slot));
	if (!bucket_load(&at.bucket->word))
		empty = take_off(t, home, at.bucket);
	if (!bucket_load(&home->chain))
		word &= ~BUCKET_CHAINED;
	bucket_unlock_changed(home, word);
	if (empty)
		give(t, empty);
}

int table_chain_look(struct table *t, struct bucket *home, uint64_t word, uint64_t key,
		     uint64_t hash, uint64_t *value)
{
	struct bucket *b = home;

	if (!(word & BUCKET_CHAINED) || !(bucket_load(&home->chain) & bucket_tag(hash)))
		return bucket_unchanged(home, word) ? 0 : -1;
	while ((b = following(t, b))) {
		const uint64_t found = bucket_match(b, bucket_load(&b->word), key);

		if (found)
			*value = bucket_load(&b->value[bucket_first(found)]);
		/* A bucket that was taken off this chain meanwhile may be in another chain. */
		if (!bucket_unchanged(home, word))
			return -1;
		if (found)
			return 1;
	}
	return bucket_unchanged(home, word) ? 0 : -1;
}
