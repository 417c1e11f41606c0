/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdlib.h>

#include "base/arithmetic.h"
#include "bench/hashmap/best_table.h"

#define CLOSED (UINT64_C(1) << 63)

/* In units of 64 KiB; of huge pages if the table has that size. */
size_t table_bytes_of(size_t buckets)
{
	const size_t bytes = buckets * sizeof(struct best_bucket),
		     page = bytes < BEST_HUGE_PAGE ? (size_t)64 << 10 : BEST_HUGE_PAGE;

	return round_up(bytes, page);
}

size_t table_bytes(const struct best_table *t)
{
	return table_bytes_of(t->buckets);
}

struct best_table *table_new(const struct best_memory *memory, size_t homes, size_t reserved,
			     size_t overflow)
{
	struct best_table *t;

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

void table_free(const struct best_memory *memory, struct best_table *t)
{
	if (!t)
		return;
	memory->give(memory->from, t->bucket, table_bytes(t));
	free(t);
}

/*
 * Takes a bucket that was given back; 0: there is none. The taker sees all that happened before it
 * was given back.
 */
static uint32_t take_used(struct best_table *t)
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

uint32_t table_take(struct best_table *t)
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

uint32_t table_take_reserved(struct best_table *t)
{
	atomic_fetch_add_explicit(&t->in_use, 1, memory_order_relaxed);
	return take_fresh(&t->fresh_reserved, t->homes + t->reserved);
}

void table_give(struct best_table *t, uint32_t bucket)
{
	uint64_t head = atomic_load_explicit(&t->free, memory_order_relaxed), first;

	do {
		bucket_store(&t->bucket[bucket].chain, (uint32_t)head);
		first = bucket | ((head >> 32) + 1) << 32;
	} while (!atomic_compare_exchange_weak_explicit(
		&t->free, &head, first, memory_order_acq_rel, memory_order_relaxed));
	atomic_fetch_sub_explicit(&t->in_use, 1, memory_order_relaxed);
}

size_t table_shut(struct best_table *t)
{
	return (size_t)(atomic_fetch_or_explicit(&t->in_use, CLOSED, memory_order_relaxed) &
			~CLOSED);
}

void table_reopen(struct best_table *t)
{
	atomic_fetch_and_explicit(&t->in_use, ~CLOSED, memory_order_relaxed);
}
