/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Entries of one size, for every map: from the thread's own part of the pool, or from those given
 * back. A thread keeps two batches of free entries; further batches go to a depot that all threads
 * share, so that a thread that only removes supplies one that only inserts.
 */
#ifndef LOCUS_HASHMAP_ENTRIES_H
#define LOCUS_HASHMAP_ENTRIES_H

#include "kit/pool.h"
#include "kit/spin.h"

enum { ENTRIES_BATCH = 256, ENTRIES_ALIGN = 8 };

/* What an entry holds while it is free; an entry is at least as large. */
struct free_entry {
	struct free_entry *next;
	struct free_entry *batch; /* first entry of a batch in the depot: the next batch */
};

struct entries_own {
	_Alignas(APART) struct free_entry *first, *full;
	unsigned n; /* entries in `first`; `full` has ENTRIES_BATCH or none */
};

struct entries {
	struct pool *pool;
	size_t bytes; /* of an entry */
	struct spin_lock lock;
	struct free_entry *_Atomic depot;
	struct entries_own own[]; /* by thread */
};

struct entries *entries_open(struct pool *, size_t bytes, unsigned threads);
void entries_close(struct entries *); /* NULL is none */
/* Bytes of a thread's part of the pool, for so many entries and the batches that it lends. */
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

#endif
