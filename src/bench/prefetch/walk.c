/* SPDX-License-Identifier: Apache-2.0 */
#include "base/flush.h"
#include "bench/prefetch/walk.h"
#include "kit/opaque.h"
#include "kit/random.h"

static size_t element_of(const struct walk *w, enum order order, uint64_t seed, size_t turn)
{
	switch (order) {
	case ORDER_FORWARD:
		return turn;
	case ORDER_BACKWARD:
		return w->elements - 1 - turn;
	default:
		return random_permute(turn, w->elements, seed);
	}
}

static char *address(const struct walk *w, size_t turn)
{
	return w->base + w->table[turn] * sizeof(uint64_t);
}

void walk_lay(const struct walk *w, enum order order, uint64_t seed)
{
	const size_t n = w->elements;

	for (size_t turn = 0; turn < n; turn++)
		w->table[turn] = (uint32_t)(element_of(w, order, seed, turn) * w->stride /
					    sizeof(uint64_t));
	for (size_t turn = 0; turn < n; turn++)
		*(char **)address(w, turn) = address(w, turn + 1 < n ? turn + 1 : 0);
}

void walk_evict(const struct walk *w, size_t line)
{
	const size_t each = w->stride < line ? line : w->stride;

	for (size_t at = 0; at < w->elements * w->stride; at += each)
		flush_line(w->base + at);
	flush_wait();
}

uint64_t walk_sum(const struct walk *w)
{
	uint64_t sum = 0;

	for (size_t turn = 0; turn < w->elements; turn++)
		sum += (uintptr_t)address(w, turn);
	return sum;
}

/*
 * As few instructions as possible: how many loads are in flight is limited by how many instructions
 * the core looks ahead. Neither loop is unrolled: the load is one instruction, by whose address
 * some prefetchers tell streams apart.
 */
__attribute__((noinline)) uint64_t walk_independent(const struct walk *w, uint64_t walks)
{
	const uint64_t *words = (const uint64_t *)(const void *)w->base;
	const uint32_t *table = w->table, *end = table + w->elements;
	uint64_t sum = 0;

	for (; walks; walks--)
		_Pragma("GCC unroll 1") for (const uint32_t *at = table; at < end; at++)
		{
			sum += words[*at];
			OPAQUE(sum);
		}
	return sum;
}

__attribute__((noinline)) uint64_t walk_dependent(const struct walk *w, uint64_t walks)
{
	const char *at = address(w, 0);
	uint64_t sum = 0, n = walks * w->elements;

	_Pragma("GCC unroll 1") for (; n; n--)
	{
		at = *(const char *const *)at;
		sum += (uintptr_t)at;
		OPAQUE(sum);
	}
	return sum;
}
