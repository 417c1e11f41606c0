/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A lock of 4 bytes, unlocked when zero. It waits by reading a cached line, and yields after a
 * bound, so that it makes progress when threads outnumber CPUs. Inline: a call would cost as much
 * as an uncontended lock.
 */
#ifndef LOCUS_SPIN_H
#define LOCUS_SPIN_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/relax.h"

/*
 * Turns before a waiting thread yields: more than the queue of a large machine takes, since a yield
 * would distort the result; but shorter than a time slice.
 */
#define LOCK_SPINS (1u << 14)

/*
 * Test and test-and-set with exponential backoff (Anderson 1990). Not fair: the last holder may win
 * again.
 */
struct spin_lock {
	_Atomic uint32_t held;
};

#define SPIN_MOST_BACKOFF 64u

/* One try: whether this thread holds it now. */
static inline bool spin_lock_try(struct spin_lock *l)
{
	return !atomic_exchange_explicit(&l->held, 1, memory_order_acquire);
}

static inline void spin_lock_acquire(struct spin_lock *l)
{
	unsigned backoff = 1, turn = 0;

	while (atomic_exchange_explicit(&l->held, 1, memory_order_acquire)) {
		for (unsigned i = 0; i < backoff; i++)
			cpu_pause();
		backoff = backoff < SPIN_MOST_BACKOFF ? 2 * backoff : SPIN_MOST_BACKOFF;
		while (atomic_load_explicit(&l->held, memory_order_relaxed))
			relax(turn++, LOCK_SPINS);
	}
}

static inline void spin_lock_release(struct spin_lock *l)
{
	atomic_store_explicit(&l->held, 0, memory_order_release);
}

#endif
