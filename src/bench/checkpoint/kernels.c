/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/checkpoint/kernels.h"
#include "kit/opaque.h"

static inline uint64_t increment(counter *c)
{
	uint64_t next = counter_get(c) + 1;

	OPAQUE(next); /* otherwise a compiler may merge load, add and store into one instruction */
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

static inline void count_down(struct ticker *t, uint64_t *left)
{
	OPAQUE(*left); /* otherwise a compiler may leave the ticks out */
	if (!--*left) {
		*left = t->mask + 1;
		increment(t->fired);
	}
}

static void counted_down(struct ticker *t, uint64_t left, uint64_t n)
{
	t->left = left;
	atomic_store_explicit(t->tick, counter_get(t->tick) + n, memory_order_relaxed);
}

__attribute__((noinline)) void countdown_loop(struct ticker *t, uint64_t n)
{
	uint64_t left = t->left;

	for (uint64_t i = n; i; i--)
		count_down(t, &left);
	counted_down(t, left, n);
}

__attribute__((noinline)) void countdown_reverse(struct ticker *t, uint64_t n)
{
	const uint64_t end = t->reversed + n;
	unsigned char *strings = t->strings;
	uint64_t left = t->left;

	for (uint64_t i = t->reversed; i != end; i++) {
		reverse(strings + i % STRINGS * STRING);
		count_down(t, &left);
	}
	t->reversed = end;
	counted_down(t, left, n);
}

/* The thread may have moved since the tick: it fires on the CPU that it runs on now. */
__attribute__((noinline)) void percpu_loop(struct ticker *t, uint64_t n)
{
	counter *tick = t->tick, *fired = t->fired;
	const uint64_t mask = t->mask;
	const size_t stride = t->stride;

	for (; n; n--)
		if (!(percpu_increment(tick, stride) & mask))
			percpu_increment(fired, stride);
}

__attribute__((noinline)) void percpu_reverse(struct ticker *t, uint64_t n)
{
	counter *tick = t->tick, *fired = t->fired;
	const uint64_t mask = t->mask, end = t->reversed + n;
	const size_t stride = t->stride;
	unsigned char *strings = t->strings;

	for (uint64_t i = t->reversed; i != end; i++) {
		reverse(strings + i % STRINGS * STRING);
		if (!(percpu_increment(tick, stride) & mask))
			percpu_increment(fired, stride);
	}
	t->reversed = end;
}
