/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fair locks: first come, first served. Like the spin lock of kit/spin.h they wait by reading a
 * cached line, yield after a bound, and are inline. Unlocked when all zero, except CLH.
 */
#ifndef LOCUS_LOCKS_H
#define LOCUS_LOCKS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "kit/spin.h"
#include "base/apart.h"

/* First come, first served; all wait on one line (Mellor-Crummey and Scott 1991, section 2.2). */
struct ticket_lock {
	_Atomic uint32_t next, serving;
};

static inline void ticket_lock_acquire(struct ticket_lock *l)
{
	uint32_t mine = atomic_fetch_add_explicit(&l->next, 1, memory_order_relaxed);

	for (unsigned turn = 0; atomic_load_explicit(&l->serving, memory_order_acquire) != mine;
	     turn++)
		relax(turn, LOCK_SPINS);
}

/* Only the holder writes `serving`: no exchange is needed. */
static inline void ticket_lock_release(struct ticket_lock *l)
{
	uint32_t mine = atomic_load_explicit(&l->serving, memory_order_relaxed);

	atomic_store_explicit(&l->serving, mine + 1, memory_order_release);
}

/*
 * First come, first served; each waits on a line of its own (Mellor-Crummey and Scott 1991, section
 * 2.4).
 */
struct mcs_node {
	_Alignas(APART) struct mcs_node *_Atomic next;
	_Atomic bool waiting;
};

struct mcs_lock {
	struct mcs_node *_Atomic tail;
};

static inline void mcs_lock_acquire(struct mcs_lock *l, struct mcs_node *me)
{
	struct mcs_node *before;

	atomic_store_explicit(&me->next, NULL, memory_order_relaxed);
	atomic_store_explicit(&me->waiting, true, memory_order_relaxed);
	/*
	 * Release: the next waiter must see the two stores above. Acquire: this one must see what
	 * the last holder wrote.
	 */
	before = atomic_exchange_explicit(&l->tail, me, memory_order_acq_rel);
	if (!before)
		return;
	atomic_store_explicit(&before->next, me, memory_order_release);
	for (unsigned turn = 0; atomic_load_explicit(&me->waiting, memory_order_acquire); turn++)
		relax(turn, LOCK_SPINS);
}

static inline void mcs_lock_release(struct mcs_lock *l, struct mcs_node *me)
{
	struct mcs_node *next = atomic_load_explicit(&me->next, memory_order_acquire),
			*expected = me;

	if (!next && atomic_compare_exchange_strong_explicit(
			     &l->tail, &expected, NULL, memory_order_release, memory_order_relaxed))
		return;
	/* Another thread has taken the tail, and is about to set me->next. */
	for (unsigned turn = 0; !next; turn++) {
		relax(turn, LOCK_SPINS);
		next = atomic_load_explicit(&me->next, memory_order_acquire);
	}
	atomic_store_explicit(&next->waiting, false, memory_order_release);
}

/*
 * First come, first served; each waiter spins on its predecessor's line, and takes the
 * predecessor's node for the next time (Craig 1993; Magnusson, Landin and Hagersten 1994). Unlocked
 * when the tail is a node that is not held: clh_lock_init().
 */
struct clh_node {
	_Alignas(APART) _Atomic bool held;
};

struct clh_lock {
	struct clh_node *_Atomic tail;
};

/* A thread's own node and, while it waits or holds the lock, its predecessor's. */
struct clh_place {
	struct clh_node *mine, *before;
};

static inline void clh_lock_init(struct clh_lock *l, struct clh_node *idle)
{
	atomic_store_explicit(&idle->held, false, memory_order_relaxed);
	atomic_store_explicit(&l->tail, idle, memory_order_relaxed);
}

static inline void clh_lock_acquire(struct clh_lock *l, struct clh_place *p)
{
	atomic_store_explicit(&p->mine->held, true, memory_order_relaxed);
	/* Release: the next one must see that store. Acquire: this one sees its node. */
	p->before = atomic_exchange_explicit(&l->tail, p->mine, memory_order_acq_rel);
	for (unsigned turn = 0; atomic_load_explicit(&p->before->held, memory_order_acquire);
	     turn++)
		relax(turn, LOCK_SPINS);
}

static inline void clh_lock_release(struct clh_place *p)
{
	struct clh_node *mine = p->mine;

	p->mine = p->before;
	atomic_store_explicit(&mine->held, false, memory_order_release);
}

#endif
