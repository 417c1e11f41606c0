/* SPDX-License-Identifier: Apache-2.0 */
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
#ifndef LOCUS_HASHMAP_EPOCH_H
#define LOCUS_HASHMAP_EPOCH_H

#include <stdatomic.h>

#include "bench/hashmap/entries.h"

enum { EPOCH_BAGS = 4, EPOCH_AFTER = 3, EPOCH_TRY = 64 };
#define EPOCH_PATIENCE 0.2 /* s: longer than the time slice of another process */
#define EPOCH_LOOKS    16  /* on a busy machine there are slices of several between two looks */
#define EPOCH_AWAY     UINT64_MAX

/* Part of a retired entry that readers do not look at. */
struct epoch_link {
	void *next;
};

struct epoch_bag {
	void *first;
	uint64_t epoch, n;
};

/* A thread's: the epoch that it has seen, and what it retired. */
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
void epoch_close(struct epoch *); /* NULL is none */

void epoch_begin(struct epoch *, unsigned me);
void epoch_end(struct epoch *, unsigned me);
/* Announces a rest, between two operations; gives back entries that no thread can read. */
void epoch_rest(struct epoch *, struct worker *self);
/* Takes an entry that others may still read, but no longer find. */
void epoch_retire(struct epoch *, unsigned me, void *entry);
/*
 * Rests until an entry is given back, for EPOCH_PATIENCE and EPOCH_LOOKS looks. Returns whether one
 * was.
 */
bool epoch_await(struct epoch *, struct worker *self);
uint64_t epoch_kept(const struct epoch *); /* retired, not given back */

#endif
