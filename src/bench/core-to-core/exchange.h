/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The ways in which two threads move cache lines between them, each a separate function, so that a
 * test can read its machine code. An even number of `turns` leaves the lines unchanged.
 */
#ifndef LOCUS_EXCHANGE_H
#define LOCUS_EXCHANGE_H

#include <stdatomic.h>
#include <stdint.h>

#include "base/apart.h"

/* The lines that two threads share, APART, of which 64 bytes each are used; zero at the start. */
enum { RING = 8 };
struct lines {
	struct line {
		_Alignas(APART) _Atomic uint64_t word;
		uint64_t payload[7];
	} line[RING];
	_Alignas(APART) _Atomic uint64_t taken;
};

/* Moves a line to the other side and back, `turns` times; side 0 begins. */
typedef void exchange(struct lines *, unsigned side, uint64_t turns);

/* One side changes a word from 0 to 1, the other from 1 to 0; each tries until it succeeds. */
exchange exchange_compare_exchange;
/* Each side reads the word until it is its turn, then stores. */
exchange exchange_store_load;
/* Each side stores to a line of its own and reads the other's. */
exchange exchange_two_lines;
/*
 * Side 0 writes 64 bytes of a line; side 1 reads them and reports its progress on another line, so
 * that at most RING lines are in flight. Sends 2 * turns lines, which must be a multiple of 2 *
 * RING.
 */
exchange exchange_message;

/* What a side has received in an exchange of stamps. */
enum { STAMPS = 1024 };
struct stamps {
	_Alignas(APART) int64_t took[STAMPS]; /* ticks, of the last STAMPS of them */
	int64_t least;			      /* of all */
	uint64_t n;
};

/*
 * Each side stores the ticks that it reads to a line of its own, in turn, and notes by how much its
 * own ticks are more when it sees the other's. Lines are left with even words.
 */
void exchange_stamps(struct lines *, unsigned side, uint64_t turns, struct stamps *);

#endif
