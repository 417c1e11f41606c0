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

#include "bench/locks/cohort.h"

/* How far a lock goes when it is handed over. */
enum distance {
	DISTANCE_SELF,	/* to the thread that had it */
	DISTANCE_CORE,	/* to another thread of the core */
	DISTANCE_CACHE, /* of a core with a common L2 or L3 */
	DISTANCE_NODE,	/* of the node */
	DISTANCE_FAR,	/* of another node */
	DISTANCES,
};

/* What a lock guards: every section that writes counts here. */
struct guarded {
	uint64_t count;
	uint64_t stamp; /* the count, and in the lower bits the worker that wrote last */
};
enum {
	KINDS_WORKER_BITS = 16,
	KINDS_MOST_THREADS = 1 << KINDS_WORKER_BITS,
	KINDS_MOST_LINES = 1 << 10,
};

/* Acquisitions between two that are timed; how many times a thread remembers. */
enum { KINDS_MOST_EVERY = 1024, KINDS_LEAST_EVERY = 4, KINDS_KEPT = 1024 };

struct visitor {
	/* what and where: constant */
	void *lock;
	struct guarded *guarded;
	unsigned char *more; /* further lines that the lock guards: a word of each, `apart` bytes */
	size_t apart;	     /* from one to the next */
	uint64_t *left;	     /* guarded, too: ticks at which a holder left; 0: not noted */
	unsigned index, threads;
	unsigned char *posts; /* of all threads: a struct post each, `size` bytes apart */
	size_t size;
	struct cohort_node *cohort;    /* of its node */
	uint64_t *from;		       /* sections that wrote, by the thread that wrote before */
	const unsigned char *distance; /* of that thread: enum distance */
	/* how much: constant */
	uint64_t lines; /* that a section writes, the first included */
	uint64_t section, pause;
	unsigned reads; /* percent of sections that only read */
	unsigned every; /* one acquisition in so many is timed: a power of two */

	struct clh_place clh;
	uint64_t value; /* of the steps of work */
	unsigned share; /* percent: at 100 the next section reads */
	unsigned until; /* acquisitions up to the next timed one */
	uint64_t torn;	/* reads that saw a section half done */
	uint64_t wrote; /* sections that wrote, but for those in `from` */

	/* since kinds_begin() */
	uint64_t waits, handovers;  /* of those below: the last KINDS_KEPT are there */
	uint64_t wait[KINDS_KEPT];  /* ticks from asking for the lock to having it */
	uint64_t handover[KINDS_KEPT]; /* ticks from one thread's leaving to the next one's entry */
	unsigned char across[KINDS_KEPT]; /* the distance of each */
};

/* A thread's own, on its node. What another thread writes or reads is on lines of its own. */
struct post {
	_Alignas(APART) _Atomic bool reading;
	struct mcs_node mcs;
	struct clh_node clh[2];    /* its own, and one for a lock to begin with */
	struct cohort_node cohort; /* of a node, on its first thread */
	_Alignas(APART) struct visitor visitor;
	uint64_t from[]; /* for each thread; behind it, `distance` */
};

struct kind {
	/* n acquisitions */
	void (*visit)(struct visitor *, uint64_t n);
	/* a lock of zeros, with a node to begin with; NULL: zeros are a lock */
	void (*init)(void *lock, struct clh_node *);
	size_t bytes;
	bool spread; /* has parts with each thread or node, too */
};

extern const struct kind kind_mutex, kind_spin, kind_ticket, kind_mcs, kind_clh, kind_cohort,
	kind_rwlock, kind_flags;

/* One acquisition in how many is timed, if it is followed by so many steps: 1024 to 4. */
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
