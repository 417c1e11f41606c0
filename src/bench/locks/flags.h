/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A reader-writer lock with a flag for each reader, on a line of its own (Hsieh and Weihl 1992):
 * readers write nothing that others write, a writer looks at all flags. Writers are served as they
 * came, and before readers that came later. Unlocked when all zero.
 */
#ifndef LOCUS_LOCKS_FLAGS_H
#define LOCUS_LOCKS_FLAGS_H

#include "kit/locks.h"

struct flags_lock {
	struct ticket_lock writers;
	_Atomic bool writing; /* a writer waits for the readers, or writes */
};

/*
 * Either the reader sees that somebody writes, or the writer sees the flag: both store first, then
 * load, in the one order of sequentially consistent accesses.
 */
static inline void flags_lock_read(struct flags_lock *l, _Atomic bool *flag)
{
	for (;;) {
		atomic_store_explicit(flag, true, memory_order_seq_cst);
		if (!atomic_load_explicit(&l->writing, memory_order_seq_cst))
			return;
		atomic_store_explicit(flag, false, memory_order_release);
		for (unsigned turn = 0; atomic_load_explicit(&l->writing, memory_order_relaxed);
		     turn++)
			relax(turn, LOCK_SPINS);
	}
}

static inline void flags_lock_unread(_Atomic bool *flag)
{
	atomic_store_explicit(flag, false, memory_order_release);
}

/* Then flags_lock_await() for the flag of each reader. */
static inline void flags_lock_write(struct flags_lock *l)
{
	ticket_lock_acquire(&l->writers);
	atomic_store_explicit(&l->writing, true, memory_order_seq_cst);
}

static inline void flags_lock_await(const _Atomic bool *flag)
{
	for (unsigned turn = 0; atomic_load_explicit(flag, memory_order_seq_cst); turn++)
		relax(turn, LOCK_SPINS);
}

static inline void flags_lock_unwrite(struct flags_lock *l)
{
	atomic_store_explicit(&l->writing, false, memory_order_release);
	ticket_lock_release(&l->writers);
}

#endif
