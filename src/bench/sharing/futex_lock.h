/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A mutex of 4 bytes whose waiters sleep in the kernel, unlocked when zero. Taking and giving it
 * back are one atomic instruction each where nobody waits. Not fair. Those are inline.
 */
#ifndef LOCUS_FUTEX_LOCK_H
#define LOCUS_FUTEX_LOCK_H

#include <stdatomic.h>
#include <stdint.h>

enum { FUTEX_LOCK_FREE, FUTEX_LOCK_HELD, FUTEX_LOCK_AWAITED };

struct futex_lock {
	_Atomic uint32_t state; /* awaited: a thread may sleep until it is free */
};

/* Sleeps until the lock is this thread's. */
void futex_lock_wait(struct futex_lock *);
/* Wakes one that sleeps. */
void futex_lock_wake(struct futex_lock *);

static inline void futex_lock_acquire(struct futex_lock *l)
{
	uint32_t expected = FUTEX_LOCK_FREE;

	if (!atomic_compare_exchange_strong_explicit(&l->state, &expected, FUTEX_LOCK_HELD,
						     memory_order_acquire, memory_order_relaxed))
		futex_lock_wait(l);
}

static inline void futex_lock_release(struct futex_lock *l)
{
	if (atomic_exchange_explicit(&l->state, FUTEX_LOCK_FREE, memory_order_release) ==
	    FUTEX_LOCK_AWAITED)
		futex_lock_wake(l);
}

#endif
