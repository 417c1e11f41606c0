/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A lock that belongs to one thread, and that others take seldom: its owner takes it by a store and
 * a load, without an atomic operation. Dekker's: each side first says that it comes, and then looks
 * whether the other one is there. Between the owner's two the processor may turn the order around;
 * a guest makes up for that by membarrier(2), which is a full barrier on each CPU that runs a
 * thread of this process and costs it microseconds. Where the kernel has none, the owner's store is
 * sequentially consistent, which is the barrier.
 */
#ifndef LOCUS_BIASED_H
#define LOCUS_BIASED_H

#include <stdatomic.h>
#include <stdbool.h>

#include "base/relax.h"

struct biased_lock {
	_Atomic bool inside;  /* the owner is */
	_Atomic bool visited; /* by a guest */
	bool barriers;	      /* guests can be the ones who order it: biased_barriers() */
};

/* Whether the kernel has such barriers for this process from now on. */
bool biased_barriers(void);
void biased_barrier(void);

/* Behind a guest, who may have lost its CPU there. */
static inline void biased_wait(const _Atomic bool *other)
{
	enum { SPINS = 1000 };

	for (unsigned turn = 0; atomic_load(other); turn++)
		relax(turn, SPINS);
}

/* Of the owner. */
static inline void biased_acquire(struct biased_lock *l)
{
	for (;;) {
		if (__builtin_expect(l->barriers, true))
			atomic_store_explicit(&l->inside, true, memory_order_relaxed);
		else
			atomic_store(&l->inside, true);
		/* the compiler keeps the order in any case */
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

/* Of any other thread. False: another guest was there, and is gone. */
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
