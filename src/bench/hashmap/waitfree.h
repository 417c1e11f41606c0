/* SPDX-License-Identifier: Apache-2.0 */
/* The data of striped-waitfree, for its test, too. */
#ifndef LOCUS_HASHMAP_WAITFREE_H
#define LOCUS_HASHMAP_WAITFREE_H

#include "bench/hashmap/entries.h"
#include "bench/hashmap/striped.h"

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
