/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A cohort lock: two levels of ticket locks (Dice, Marathe and Shavit 2012: C-TKT-TKT). A thread
 * takes the lock of its node, then the global one, unless the last holder, of the same node, passed
 * that on with it. Unlocked when all zero.
 */
#ifndef LOCUS_LOCKS_COHORT_H
#define LOCUS_LOCKS_COHORT_H

#include "kit/locks.h"

/* How often in a row a node may pass the global lock on. */
enum { COHORT_PASSES = 64 };

struct cohort_node {
	_Alignas(APART) struct ticket_lock lock;
	/* guarded by the lock */
	bool passed;	 /* the global lock comes with this one */
	unsigned passes; /* in a row */
};

struct cohort_lock {
	struct ticket_lock global;
};

static inline void cohort_lock_acquire(struct cohort_lock *l, struct cohort_node *n)
{
	ticket_lock_acquire(&n->lock);
	if (!n->passed)
		ticket_lock_acquire(&l->global);
}

/* Whether another thread of the holder's node waits. */
static inline bool cohort_node_awaited(const struct cohort_node *n)
{
	return atomic_load_explicit(&n->lock.next, memory_order_relaxed) -
		       atomic_load_explicit(&n->lock.serving, memory_order_relaxed) >
	       1;
}

/* Any thread may release a ticket lock: here the last of its node, not the one that took it. */
static inline void cohort_lock_release(struct cohort_lock *l, struct cohort_node *n)
{
	n->passed = n->passes < COHORT_PASSES && cohort_node_awaited(n);
	n->passes = n->passed ? n->passes + 1 : 0;
	if (!n->passed)
		ticket_lock_release(&l->global);
	ticket_lock_release(&n->lock);
}

#endif
