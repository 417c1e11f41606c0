/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Entries of one size, for every map: from the thread's own part of the pool, or from those given
 * back. A thread keeps two batches of free entries; further batches go to a depot that all threads
 * share, so that a thread that only removes supplies one that only inserts.
 * Entries that others may still read are given back by epochs.
 */
#ifndef LOCUS_HASHMAP_ENTRIES_H
#define LOCUS_HASHMAP_ENTRIES_H

#include <stdatomic.h>

#include "kit/pool.h"
#include "kit/spin.h"

enum { ENTRIES_BATCH = 256, ENTRIES_ALIGN = 8 };

/* The contents of a free entry; an entry is at least as large. */
struct free_entry {
	struct free_entry *next;
	struct free_entry *batch; /* first entry of a batch in the depot: the next batch */
};

struct entries_own {
	_Alignas(APART) struct free_entry *first, *full;
	unsigned n; /* entries in `first`; `full` has ENTRIES_BATCH of them, or none */
};

struct entries {
	struct pool *pool;
	size_t bytes; /* of an entry */
	struct spin_lock lock;
	struct free_entry *_Atomic depot;
	struct entries_own own[]; /* by thread */
};

struct entries *entries_open(struct pool *, size_t bytes, unsigned threads);
void entries_close(struct entries *); /* NULL does nothing */
/*
 * Bytes of a thread's part of the pool: for so many entries, plus the batches of free ones that
 * wait at the thread or in the depot.
 */
size_t entries_room(size_t bytes, uint64_t entries);

/* The slow paths of the functions below. */
void *entries_refill(struct entries *, struct worker *self);
void entries_spill(struct entries *, struct entries_own *);

/* NULL: there are none. */
static inline void *entries_take(struct entries *e, struct worker *self)
{
	struct entries_own *own = &e->own[self->index];
	struct free_entry *entry = own->first;

	if (!entry)
		return entries_refill(e, self);
	own->first = entry->next;
	own->n--;
	return entry;
}

/* Gives back an entry that no thread still reads. */
static inline void entries_give(struct entries *e, struct worker *self, void *entry)
{
	struct entries_own *own = &e->own[self->index];
	struct free_entry *given = entry;

	if (own->n == ENTRIES_BATCH)
		entries_spill(e, own);
	given->next = own->first;
	own->first = given;
	own->n++;
}

/*
 * Reclamation of memory that other threads may still read, by epochs announced between operations
 * (quiescent states; Hart et al. 2007). Reads cost nothing: every MAP_BLOCK operations a thread
 * announces that it has seen the current epoch, and the epoch advances when all active threads have
 * seen it. An entry retired by a thread in epoch e is free in epoch e + 3: others may have found it
 * in e + 1, and each of them has rested in e + 2 before e + 3 begins.
 *
 * A thread that is stopped within an operation stops the epoch. Others go on, and the entries that
 * they retire are kept, without a bound, until memory is used up.
 */
enum { EPOCH_BAGS = 4, EPOCH_AFTER = 3, EPOCH_TRY = 64 };
#define EPOCH_PATIENCE 0.2 /* s: longer than the time slice of another process */
/* on a busy machine other processes' time slices pass between two looks */
#define EPOCH_LOOKS 16
#define EPOCH_AWAY  UINT64_MAX

/* Part of a retired entry that readers do not look at. */
struct epoch_link {
	void *next;
};

struct epoch_bag {
	void *first;
	uint64_t epoch, n;
};

/* A thread's own data: the epoch that it has seen, and what it retired. */
struct epoch_own {
	_Alignas(APART) _Atomic uint64_t seen;
	struct epoch_bag bag[EPOCH_BAGS]; /* by epoch, modulo their number */
	uint64_t retired;		  /* since it last tried to advance the epoch */
	uint64_t kept;			  /* in all bags */
};

struct epoch {
	_Alignas(APART) _Atomic uint64_t now;
	_Alignas(APART) struct entries *entries; /* where retired entries go */
	size_t link;				 /* offset of an entry's epoch_link */
	unsigned threads;
	bool reclaim; /* false: retired entries are never used again */
	struct epoch_own own[];
};

struct epoch *epoch_open(struct entries *, size_t link, unsigned threads, bool reclaim);
void epoch_close(struct epoch *); /* NULL does nothing */

void epoch_begin(struct epoch *, unsigned me);
void epoch_end(struct epoch *, unsigned me);
/*
 * Announces a quiescent state, between two operations; gives back entries that no thread can read.
 */
void epoch_rest(struct epoch *, struct worker *self);
/* Takes an entry that others may still read, but no longer find. */
void epoch_retire(struct epoch *, unsigned me, void *entry);
/*
 * Announces quiescent states until an entry is given back, for EPOCH_PATIENCE and EPOCH_LOOKS
 * looks. Returns whether one was.
 */
bool epoch_await(struct epoch *, struct worker *self);
uint64_t epoch_kept(const struct epoch *); /* retired, not given back */

#endif
