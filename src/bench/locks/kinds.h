/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Locks, and a loop over each of them: acquire, work on what the lock guards, release, pause.
 * Waiting threads look at a line, with pauses, and yield after a bound (LOCK_SPINS), except at the
 * C library's locks, whose waiters sleep.
 */
#ifndef LOCUS_LOCKS_KINDS_H
#define LOCUS_LOCKS_KINDS_H

#include <stddef.h>
#include <stdint.h>

#include "kit/locks.h"

/*
 * A cohort lock: two levels of ticket locks (Dice, Marathe and Shavit 2012: C-TKT-TKT). A thread
 * takes the lock of its node, then the global one, unless the last holder, of the same node, passed
 * that on with it. Unlocked when all zero.
 */
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

/*
 * A reader-writer lock with a flag for each reader, on a line of its own (Hsieh and Weihl 1992):
 * readers write nothing that others write, a writer looks at all flags. Writers are served as they
 * came, and before readers that came later. Unlocked when all zero.
 */
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

/* The caller then calls flags_lock_await() for each reader's flag. */
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

/* The distance of a hand-over. */
enum distance {
	DISTANCE_SELF,	/* to the thread that had it */
	DISTANCE_CORE,	/* to another thread of the core */
	DISTANCE_CACHE, /* of a core with a common L2 or L3 */
	DISTANCE_NODE,	/* of the node */
	DISTANCE_FAR,	/* of another node */
	DISTANCES,
};

/* The data that a lock guards: every writing section counts here. */
struct guarded {
	uint64_t count;
	uint64_t stamp; /* the count, and in the lower bits the worker that wrote last */
};
enum {
	KINDS_WORKER_BITS = 16,
	KINDS_MOST_THREADS = 1 << KINDS_WORKER_BITS,
	KINDS_MOST_LINES = 1 << 10,
};

/* The interval between timed acquisitions, in acquisitions; how many times a thread keeps. */
enum { KINDS_MOST_EVERY = 1024, KINDS_LEAST_EVERY = 4, KINDS_KEPT = 1024 };

struct visitor {
	/* constant: the lock, and where its data lies */
	void *lock;
	struct guarded *guarded;
	/* further guarded lines: a word of each, `apart` bytes from the next */
	unsigned char *more;
	size_t apart;	/* from one to the next */
	uint64_t *left; /* guarded, too: ticks at which a holder left; 0: not noted */
	unsigned index, threads;
	unsigned char *posts; /* a struct post for each thread, `size` bytes apart */
	size_t size;
	struct cohort_node *cohort;    /* of the thread's node */
	uint64_t *from;		       /* sections that wrote, by the thread that wrote before */
	const unsigned char *distance; /* to the thread that wrote before: enum distance */
	/* constant: how much a section does */
	uint64_t lines; /* lines that a section writes, the first included */
	uint64_t section, pause;
	unsigned reads; /* percent of sections that only read */
	unsigned every; /* one acquisition in so many is timed: a power of two */

	struct clh_place clh;
	uint64_t value; /* the work's present value */
	unsigned share; /* percent: at 100 the next section reads */
	unsigned until; /* acquisitions up to the next timed one */
	uint64_t torn;	/* reads that saw a section half done */
	uint64_t wrote; /* sections that wrote, except those in `from` */

	/* since kinds_begin() */
	/* how many were timed; the last KINDS_KEPT times are below */
	uint64_t waits, handovers;
	uint64_t wait[KINDS_KEPT];     /* ticks from asking for the lock to having it */
	uint64_t handover[KINDS_KEPT]; /* ticks from one thread's leaving to the next one's entry */
	unsigned char across[KINDS_KEPT]; /* the distance of each */
};

/* A thread's own data, on its node. Words that other threads write or read have their own lines. */
struct post {
	_Alignas(APART) _Atomic bool reading;
	struct mcs_node mcs;
	struct clh_node clh[2];	   /* the thread's own node, and one for a lock to begin with */
	struct cohort_node cohort; /* a node's cohort lock, on the node's first thread */
	_Alignas(APART) struct visitor visitor;
	uint64_t from[]; /* one for each thread; then comes `distance` */
};

struct kind {
	/* n acquisitions */
	void (*visit)(struct visitor *, uint64_t n);
	/*
	 * makes a lock from zeroed memory, with its first queue node; NULL: zeros are a valid lock
	 */
	void (*init)(void *lock, struct clh_node *);
	size_t bytes;
	bool spread; /* each thread or node has a part of the lock, too */
};

extern const struct kind kind_mutex, kind_spin, kind_ticket, kind_mcs, kind_clh, kind_cohort,
	kind_rwlock, kind_flags;

/* Returns n: one acquisition in n is timed, if so many steps follow each. From 1024 to 4. */
unsigned kinds_every(uint64_t steps);

/* Forgets what was counted and timed so far; `wrote` keeps the number. */
void kinds_begin(struct visitor *);

/* The post that has this visitor. */
static inline struct post *own_post(struct visitor *v)
{
	return (struct post *)((unsigned char *)v - offsetof(struct post, visitor));
}

static inline struct post *post_of(const struct visitor *v, unsigned thread)
{
	return (struct post *)(v->posts + thread * v->size);
}

/* Line i, from 1. */
static inline uint64_t *line_of(const struct visitor *v, uint64_t i)
{
	return (uint64_t *)(v->more + (i - 1) * v->apart);
}

#endif
