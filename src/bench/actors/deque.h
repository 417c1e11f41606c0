/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A work-stealing deque (Chase and Lev 2005): its owner adds and takes at the bottom, thieves take
 * at the top. The orderings are those of Le, Pop, Cohen and Zappa Nardelli (2013), with
 * sequentially consistent accesses in the place of their two fences: ThreadSanitizer sees them, and
 * on x86 they cost the same. It has a slot for each actor, and an actor is in it at most once: so
 * it never grows. A thief whose slot was used again finds that the top has moved.
 */
#ifndef LOCUS_DEQUE_H
#define LOCUS_DEQUE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/apart.h"

struct actor;

struct deque {
	_Alignas(APART) _Atomic int64_t top;
	_Alignas(APART) _Atomic int64_t bottom;
	struct actor *_Atomic *slot;
	size_t mask;
};

/* A power of two, at least n. */
static inline size_t deque_slots(size_t n)
{
	size_t slots = 1;

	while (slots < n)
		slots *= 2;
	return slots;
}

/*
 * For the owner: adds an actor. `order`: release, or sequentially consistent if the owner then
 * checks for sleepers.
 */
static inline void deque_add(struct deque *d, struct actor *a, memory_order order)
{
	const int64_t bottom = atomic_load_explicit(&d->bottom, memory_order_relaxed);

	atomic_store_explicit(&d->slot[(size_t)bottom & d->mask], a, memory_order_relaxed);
	atomic_store_explicit(&d->bottom, bottom + 1, order);
}

/* For the owner: takes the newest; NULL: the deque is empty. */
static inline struct actor *deque_take(struct deque *d)
{
	const int64_t bottom = atomic_load_explicit(&d->bottom, memory_order_relaxed) - 1;
	struct actor *a = NULL;
	int64_t top;

	/* First claims the bottom, then reads the top; a thief reads them in the opposite order. */
	atomic_store(&d->bottom, bottom);
	top = atomic_load(&d->top);
	if (top > bottom) {
		atomic_store_explicit(&d->bottom, bottom + 1, memory_order_relaxed);
		return NULL;
	}
	a = atomic_load_explicit(&d->slot[(size_t)bottom & d->mask], memory_order_relaxed);
	if (top < bottom)
		return a;
	/* the last one: owner and thieves race for it at the top */
	if (!atomic_compare_exchange_strong(&d->top, &top, top + 1))
		a = NULL;
	atomic_store_explicit(&d->bottom, bottom + 1, memory_order_relaxed);
	return a;
}

/*
 * For any thread: takes the oldest. NULL: the deque is empty or, if *again, another thread was
 * faster.
 */
static inline struct actor *deque_steal(struct deque *d, bool *again)
{
	int64_t top = atomic_load(&d->top);
	struct actor *a;

	*again = false;
	if (top >= atomic_load(&d->bottom))
		return NULL;
	a = atomic_load_explicit(&d->slot[(size_t)top & d->mask], memory_order_relaxed);
	if (atomic_compare_exchange_strong(&d->top, &top, top + 1))
		return a;
	*again = true;
	return NULL;
}

/* The approximate number of actors. */
static inline int64_t deque_length(const struct deque *d)
{
	return atomic_load_explicit(&d->bottom, memory_order_relaxed) -
	       atomic_load_explicit(&d->top, memory_order_relaxed);
}

#endif
