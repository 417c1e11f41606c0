/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A biased lock: it belongs to one thread, its owner, and other threads (guests) take it seldom.
 * The owner takes it by a store and a load, without an atomic read-modify-write. As in Dekker's
 * algorithm, each side first announces itself and then checks whether the other is there. The
 * processor may reorder the owner's store and load; a guest makes up for that by membarrier(2), a
 * full barrier on each CPU that runs a thread of this process, which costs the guest microseconds.
 * Where the kernel has no membarrier(2), the owner exchanges, which is a barrier. A sequentially
 * consistent store would do on a processor; QEMU's emulation of aarch64 lets the load pass it.
 */
#ifndef LOCUS_BIASED_H
#define LOCUS_BIASED_H

#include <stdatomic.h>
#include <stdbool.h>

#include "base/relax.h"

struct biased_lock {
	_Atomic bool inside;  /* the owner has the lock */
	_Atomic bool visited; /* a guest has the lock, or waits for the owner to leave */
	bool barriers;	      /* guests issue the barriers; see biased_barriers() */
};

/* Registers this process for membarrier(2). False: the kernel does not have it. */
bool biased_barriers(void);
void biased_barrier(void);

/*
 * Waits until the other side leaves. It may have been preempted, so the waiter yields after a
 * while.
 */
static inline void biased_wait(const _Atomic bool *other)
{
	enum { SPINS = 1000 };

	for (unsigned turn = 0; atomic_load(other); turn++)
		relax(turn, SPINS);
}

/* Takes the lock; for the owner only. */
static inline void biased_acquire(struct biased_lock *l)
{
	for (;;) {
		if (__builtin_expect(l->barriers, true))
			atomic_store_explicit(&l->inside, true, memory_order_relaxed);
		else
			(void)atomic_exchange(&l->inside, true);
		/* for the compiler, which must keep the order in either case */
		atomic_signal_fence(memory_order_seq_cst);
		if (__builtin_expect(!atomic_load(&l->visited), true))
			return;
		atomic_store(&l->inside, false);
		biased_wait(&l->visited);
	}
}

static inline void biased_release(struct biased_lock *l)
{
	atomic_store_explicit(&l->inside, false, memory_order_release);
}

/*
 * For any other thread. False: another guest had the lock, and has left; the caller has not taken
 * it.
 */
static inline bool biased_visit(struct biased_lock *l)
{
	if (atomic_exchange(&l->visited, true)) {
		biased_wait(&l->visited);
		return false;
	}
	if (l->barriers)
		biased_barrier();
	biased_wait(&l->inside);
	return true;
}

static inline void biased_leave(struct biased_lock *l)
{
	atomic_store_explicit(&l->visited, false, memory_order_release);
}

#endif
