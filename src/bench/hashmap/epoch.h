/* SPDX-License-Identifier: Apache-2.0 */
/*
 * When memory that other threads may still read can be used again: epochs announced between
 * operations (quiescent states; Hart et al. 2007). Reading costs nothing then; every MAP_BLOCK
 * operations a thread reads the epoch and says that it has seen it. The epoch advances when all
 * that have begun have seen it. What was retired by a thread that had seen epoch e is free in epoch
 * e + 3: in e + 1 others may have found it, and to come to e + 3 each has rested in e + 2.
 *
 * A thread that is held within an operation holds up the epoch: others go on, and what they retire
 * meanwhile is kept without a bound, until memory is used up.
 */
#ifndef LOCUS_HASHMAP_EPOCH_H
#define LOCUS_HASHMAP_EPOCH_H

#include <stdatomic.h>

#include "bench/hashmap/entries.h"

enum { EPOCH_BAGS = 4, EPOCH_AFTER = 3, EPOCH_TRY = 64 };
#define EPOCH_PATIENCE 0.2 /* s: longer than another process has a CPU */
#define EPOCH_AWAY     UINT64_MAX

/* In a retired entry, beside what readers may still look at. */
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
	uint64_t retired;		  /* since the epoch was last tried */
	uint64_t kept;			  /* in all bags */
};

struct epoch {
	_Alignas(APART) _Atomic uint64_t now;
	_Alignas(APART) struct entries *entries; /* where it goes */
	size_t link;				 /* offset of an entry's epoch_link */
	unsigned threads;
	bool reclaim; /* false: nothing is ever used again */
	struct epoch_own own[];
};

struct epoch *epoch_open(struct entries *, size_t link, unsigned threads, bool reclaim);
void epoch_close(struct epoch *); /* NULL is none */

void epoch_begin(struct epoch *, unsigned me);
void epoch_end(struct epoch *, unsigned me);
/* Gives back what may be. Between two operations. */
void epoch_rest(struct epoch *, struct worker *self);
/* Others may have it; nobody can find it any more. */
void epoch_retire(struct epoch *, unsigned me, void *entry);
/* Rests until something is given back, or for EPOCH_PATIENCE. Whether something was. */
bool epoch_await(struct epoch *, struct worker *self);
uint64_t epoch_kept(const struct epoch *); /* entries that wait */

#endif
