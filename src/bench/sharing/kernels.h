/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The measured updates, each a separate function, so that a test can read its machine code. An
 * update does n operations at `place`: on a word, or on a lock and the word that it guards.
 */
#ifndef LOCUS_SHARING_KERNELS_H
#define LOCUS_SHARING_KERNELS_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>

#include "kit/locks.h"

/*
 * A mutex of 4 bytes whose waiters sleep in the kernel, unlocked when zero. Without waiters, taking
 * and releasing it are one atomic instruction each. Not fair.
 */
enum { FUTEX_LOCK_FREE, FUTEX_LOCK_HELD, FUTEX_LOCK_AWAITED };

struct futex_lock {
	_Atomic uint32_t state; /* awaited: a thread may sleep until it is free */
};

/* Sleeps until the lock is this thread's. Not inlined into the measured loops. */
__attribute__((noinline)) void futex_lock_wait(struct futex_lock *);
/* Wakes one sleeping thread. */
__attribute__((noinline)) void futex_lock_wake(struct futex_lock *);

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

struct guarded_by_mutex {
	pthread_mutex_t lock;
	uint64_t word;
};
struct guarded_by_spin {
	struct spin_lock lock;
	uint64_t word;
};
struct guarded_by_ticket {
	struct ticket_lock lock;
	uint64_t word;
};
struct guarded_by_mcs {
	struct mcs_lock lock;
	uint64_t word;
};

struct guarded_by_futex {
	struct futex_lock lock;
	uint64_t word;
};

/* `own`: the calling thread's queue node, for update_mcs. */
typedef void update(void *place, struct mcs_node *own, uint64_t n);

/* A load, an add, a store: races lose updates. Relaxed atomics, so that races are defined. */
update update_add, update_add_32;
update update_fetch_add, update_fetch_add_32;
/* Each retries until the exchange succeeds. */
update update_compare_exchange, update_compare_exchange_32;
update update_mutex, update_spin, update_ticket, update_mcs, update_futex;
/* The lock alone, without an increment under it. */
update empty_mutex, empty_spin, empty_ticket, empty_mcs, empty_futex;

#endif
