/* SPDX-License-Identifier: Apache-2.0 */
/* What striped-waitfree is made of (waitfree.c), and how its table doubles. */
#ifndef LOCUS_HASHMAP_WAITFREE_H
#define LOCUS_HASHMAP_WAITFREE_H

#include "bench/hashmap/epoch.h"
#include "bench/hashmap/stripes.h"

struct waitfree_entry {
	struct waitfree_entry *next;
	uint64_t key;
	struct epoch_link link; /* once it is retired */
	uint64_t value[];
};

/* The first has as many buckets as the map began with, the next one twice as many, ... */
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
	/* there was no memory to grow: insertions into full stripes before it is tried again */
	_Atomic size_t patience;
	struct waitfree_table table[WAITFREE_MOST_TABLES];
	struct waitfree_table *_Atomic now;
};

/* A copy of an entry that is not in a chain yet; NULL: no memory. */
struct waitfree_entry *waitfree_copy(struct waitfree *, struct worker *self,
				     const struct waitfree_entry *);
/*
 * Doubles the table, unless another thread has doubled it since it was `old`. Where there is no
 * memory for that it stays as it is.
 */
void waitfree_grow(struct waitfree *, struct worker *self, struct waitfree_table *old);

#endif
