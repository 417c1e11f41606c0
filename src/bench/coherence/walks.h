/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Walks through lines: each line holds the address of the next one, so that no access can begin
 * before the one before it has ended. Each kernel is a separate function, so that a test can read
 * its machine code.
 */
#ifndef LOCUS_COHERENCE_WALKS_H
#define LOCUS_COHERENCE_WALKS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kit/histogram.h"

struct link {
	_Atomic(struct link *) next;
};

/* Lines in an order that prefetchers can't guess: two or more, one of each pair of neighbours. */
struct lines {
	char *base;
	size_t n, apart; /* apart: bytes from one to the next, in memory */
	uint64_t seed;
};

/* The line at which each walk begins. */
struct link *lines_first(const struct lines *);
/*
 * Stores to each line where the walk goes on, and returns where it ends: an address of the first
 * line that no walk goes to, another one for each of seven numbers in turn. The walk is forward or
 * backward, by turns as well. So one that meets a line of an earlier laying does not end there.
 */
struct link *lines_lay(const struct lines *, uint64_t number);
/* Removes all lines from all caches. Only where lines_can_flush(). */
void lines_flush(const struct lines *);
bool lines_can_flush(void);
/* Whether each line holds this address. */
bool lines_hold(const struct lines *, const struct link *);

/*
 * Goes over n lines from `at`, and returns what the last one holds. A walk that stores leaves
 * `mark` in each line.
 */
typedef struct link *walk(struct link *at, uint64_t n, struct link *mark);
walk walk_load;	 /* dependent loads */
walk walk_store; /* atomic exchanges: stores that the next one can wait for */

/* The same, with the ticks from line to line in a histogram. */
typedef struct link *walk_noting(struct link *at, uint64_t n, struct link *mark,
				 struct histogram *);
walk_noting walk_load_noting, walk_store_noting;

#endif
