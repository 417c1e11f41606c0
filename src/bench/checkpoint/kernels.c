/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/checkpoint/kernels.h"
#include "kit/opaque.h"

static inline uint64_t increment(counter *c)
{
	uint64_t next = counter_get(c) + 1;

	OPAQUE(next); /* else a compiler may merge load, add and store into one instruction */
	atomic_store_explicit(c, next, memory_order_relaxed);
	return next;
}

__attribute__((noinline)) void checkpoint_loop(struct ticker *t, uint64_t n)
{
	counter *tick = t->tick, *fired = t->fired;
	const uint64_t mask = t->mask;

	for (; n; n--)
		if (!(increment(tick) & mask))
			increment(fired);
}

static void reverse(unsigned char *string)
{
	for (unsigned i = 0, j = STRING - 1; i < j; i++, j--) {
		unsigned char c = string[i];

		string[i] = string[j];
		string[j] = c;
	}
}

__attribute__((noinline)) void checkpoint_reverse(struct ticker *t, uint64_t n)
{
	counter *tick = t->tick, *fired = t->fired;
	const uint64_t mask = t->mask, end = t->reversed + n;
	unsigned char *strings = t->strings;

	for (uint64_t i = t->reversed; i != end; i++) {
		reverse(strings + i % STRINGS * STRING);
		if (!(increment(tick) & mask))
			increment(fired);
	}
	t->reversed = end;
}
