/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Chains of pointers through a buffer: the order in which elements are visited.
 *
 * An order is a function from the turn (0, 1, ...) to the element, and a bijection by construction.
 * So the chain is one cycle through all elements, however many, and several threads can lay it
 * without a table. (With indexes drawn by rand() it would enter a short cycle after about sqrt(n)
 * steps.)
 */
#ifndef LOCUS_LATENCY_CHAIN_H
#define LOCUS_LATENCY_CHAIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum pattern {
	PATTERN_CYCLE, /* elements are visited in random order */
	/* all elements: pages in random order, and elements in random order within each page */
	PATTERN_PAGE_CYCLE,
	/* one element a page: pages in random order, the line within the page varies */
	PATTERN_PAGE_RANDOM,
	PATTERN_PAGE_STRIDE, /* elements a page and 8 bytes apart, in order */
	PATTERN_LINE_STRIDE, /* all elements, in order */
};

struct chain {
	enum pattern pattern;
	size_t bytes;	   /* of the buffer that holds the elements */
	size_t stride;	   /* bytes from one element to its neighbour */
	size_t page, line; /* bytes of the system's page and of a cache line */
	uint64_t seed;
};

size_t chain_elements(const struct chain *); /* 0: the buffer is too small for one */
/* offset in bytes of the element visited at that turn, turn < chain_elements() */
size_t chain_at(const struct chain *, size_t turn);

/*
 * Lays the links of turns begin..end-1: each element gets the address (with `ints`, the index) of
 * the element of the next turn.
 */
void chain_lay(const struct chain *, void *base, bool ints, size_t begin, size_t end);

/* ---- the measured kernels: each load waits for the previous one on its chain ---- */

/*
 * Chains that a kernel follows in parallel, at most. A position is a pointer to an element or, with
 * ints, an index.
 */
#define MOST_CHAINS 32
union position {
	void *element;
	uint64_t index;
};

/*
 * Advances all chains from their positions, by `rounds` rounds of chase_loads() loads in all.
 * `base`: the array, for chains of ints.
 */
typedef void chase(union position *at, const void *base, uint64_t rounds);

/*
 * NULL: there is no such kernel. Kernels follow 1, 2, 3, 4, 6, 8, 12, 16, 24 or 32 chains of
 * pointers, or 1 of ints.
 */
chase *chase_choose(unsigned chains, bool ints);
/* Loads of one round, over all chains. */
unsigned chase_loads(unsigned chains);

#endif
