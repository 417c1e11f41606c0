/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The ways in which two threads move cache lines between them, each in a function of its own, so
 * that a test can read its machine code. Where `turns` is even the lines hold afterwards what they
 * held before.
 */
#ifndef LOCUS_EXCHANGE_H
#define LOCUS_EXCHANGE_H

#include <stdatomic.h>
#include <stdint.h>

#include "base/apart.h"


/* What two threads share: 64 bytes of a line each, APART. All zeros to begin with. */
enum { RING = 8 };
struct lines {
	struct line {
		_Alignas(APART) _Atomic uint64_t word;
		uint64_t payload[7];
	} line[RING];
	_Alignas(APART) _Atomic uint64_t taken;
};

/* Side 0 begins. `turns` times to the other side and back. */
typedef void exchange(struct lines *, unsigned side, uint64_t turns);

/* One side changes a word from 0 to 1, the other from 1 to 0; each tries until it succeeds. */
exchange exchange_compare_exchange;
/* Each side reads the word until it is its turn, then stores. */
exchange exchange_store_load;
/* Each side stores to a line of its own and reads the other's. */
exchange exchange_two_lines;
/*
 * Side 0 writes 64 bytes of a line, side 1 reads them, and says on another line how far it is, so
 * that at most RING lines are in flight. 2 * turns lines are sent, a multiple of 2 * RING.
 */
exchange exchange_message;

#endif
