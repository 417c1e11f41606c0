/* SPDX-License-Identifier: Apache-2.0 */
/* A walk over elements that lie a stride apart, in an order, and the measured loops. */
#ifndef LOCUS_PREFETCH_H
#define LOCUS_PREFETCH_H

#include <stddef.h>
#include <stdint.h>

enum order { ORDER_FORWARD, ORDER_BACKWARD, ORDER_RANDOM };

struct walk {
	char *base;
	size_t stride; /* bytes from one element to its neighbour, a multiple of 8 */
	size_t elements;
	uint32_t *table; /* by turn: the element's offset, in words of 8 bytes */
};

/* Fills the table: each element holds the address of the next, the last one the first's. */
void walk_lay(const struct walk *, enum order, uint64_t seed);
/* Evicts the elements' lines from all caches. */
void walk_evict(const struct walk *, size_t line);
/* The sum of all addresses, modulo 2^64: the sum that one walk loads. */
uint64_t walk_sum(const struct walk *);

/*
 * `walks` walks from the first turn to the last; returns the sum of what was loaded. All orders run
 * the same instructions, and differ in the addresses alone.
 */
typedef uint64_t walk_loop(const struct walk *, uint64_t walks);
walk_loop walk_independent; /* addresses come from the table, so that loads can overlap */
walk_loop walk_dependent;   /* each load gives the address of the next */

#endif
