/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stripes, of which both striped maps are made: a lock and a count of entries for each stripe, as
 * far apart as the shape says, and tables of buckets that double.
 *
 * An entry's stripe is hash % stripes, its bucket hash % buckets. Buckets are stripes times a power
 * of two, so no entry changes its stripe when the table doubles: bucket b's entries go to b and
 * b + buckets, which the stripe's lock protects. Whoever doubles the table takes all locks, in
 * order.
 *
 * The block of memory: locks, counts, then all tables, each of which has a place of its own, so
 * that whoever still reads an old one finds it unchanged.
 */
#ifndef LOCUS_HASHMAP_STRIPED_H
#define LOCUS_HASHMAP_STRIPED_H

#include <stdatomic.h>

#include "bench/hashmap/entries.h"
#include "bench/hashmap/map.h"
#include "kit/spin.h"
#include "machine/clock.h"

/* Bytes as published: a Java object with its header as the lock, an int as the count. */
enum { STRIPES_LOCK = 16, STRIPES_COUNT = 4 };

struct stripes {
	unsigned n;
	size_t lock_stride, size_stride;
	unsigned char *locks, *sizes;
	void **tables;	    /* the first table; each next one follows */
	size_t first, most; /* buckets, of the first and of the last table */
	double load;
	struct map_costs *costs;
};

size_t stripes_bytes(const struct map_shape *);
/* Locks open, counts 0; the first table empty. */
void stripes_open(struct stripes *, const struct map_shape *, const struct map_memory *);
/* Sum of the counts: exact while nobody is at work. */
uint64_t stripes_size(const struct stripes *);
/* Bytes of locks, counts and a table. */
size_t stripes_used(const struct stripes *, size_t buckets);

/* The table of so many buckets: its offset in pointers from the first. */
static inline size_t stripes_table(const struct stripes *s, size_t buckets)
{
	return buckets - s->first;
}

static inline struct spin_lock *stripes_lock_of(const struct stripes *s, unsigned stripe)
{
	return (struct spin_lock *)(s->locks + stripe * s->lock_stride);
}

static inline _Atomic uint32_t *stripes_size_of(const struct stripes *s, unsigned stripe)
{
	return (_Atomic uint32_t *)(s->sizes + stripe * s->size_stride);
}

/* Reads the clock only where it has to wait. */
static inline void stripes_lock(const struct stripes *s, unsigned stripe, unsigned me)
{
	struct spin_lock *lock = stripes_lock_of(s, stripe);
	uint64_t began;

	if (__builtin_expect(spin_lock_try(lock), 1))
		return;
	began = clock_ticks();
	spin_lock_acquire(lock);
	s->costs[me].waited += clock_ticks() - began;
}

static inline void stripes_unlock(const struct stripes *s, unsigned stripe)
{
	spin_lock_release(stripes_lock_of(s, stripe));
}

void stripes_lock_all(const struct stripes *, unsigned me);
void stripes_unlock_all(const struct stripes *);

/* Whether a stripe with so many entries makes the table double. */
static inline bool stripes_are_full(const struct stripes *s, uint32_t entries, size_t buckets)
{
	return buckets < s->most && (double)entries * s->n > (double)buckets * s->load;
}

/* ---- the data of striped-waitfree, for its test, too ---- */

struct waitfree_entry {
	struct waitfree_entry *next;
	uint64_t key;
	struct epoch_link link; /* once it is retired */
	uint64_t value[];
};

/* Table i has 2^i times the buckets that the map starts with. */
struct waitfree_table {
	size_t buckets;
	struct waitfree_entry *_Atomic *bucket;
};
enum { WAITFREE_MOST_TABLES = 64 };

struct waitfree {
	struct stripes stripes;
	unsigned words;
	struct entries *entries;
	struct epoch *epoch;
	/* after a lack of memory: insertions into full stripes before growing is tried again */
	_Atomic size_t patience;
	struct waitfree_table table[WAITFREE_MOST_TABLES];
	struct waitfree_table *_Atomic now;
};

#endif
