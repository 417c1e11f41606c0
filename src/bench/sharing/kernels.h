/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is measured of sharing, each in a function of its own, so that a test can read its machine code.
 *
 * An update does n operations on what lies at `place`: a word, or a lock with the word that it guards. An exchange has two sides that give one or
 * two lines to each other; what stands in the lines is as it was before, whenever `turns` is even.
 */
#ifndef LOCUS_SHARING_KERNELS_H
#define LOCUS_SHARING_KERNELS_H

#include <pthread.h>

#include "bench/sharing/locks.h"

struct guarded_by_mutex {
	pthread_mutex_t lock;
	uint64_t word;
};
struct guarded_by_spin {
	struct spin_lock lock;
	uint64_t word;
};
struct guarded_by_ticket {
	struct ticket_lock lock;
	uint64_t word;
};
struct guarded_by_mcs {
	struct mcs_lock lock;
	uint64_t word;
};

/* `own`: what this thread alone brings along. */
typedef void update(void *place, struct mcs_node *own, uint64_t n);

/* A load, an add, a store: between threads, updates get lost. The races are relaxed atomics, and so defined. */
update update_add, update_add_32;
update update_fetch_add, update_fetch_add_32;
/* Again, until the word is what was read. */
update update_compare_exchange;
update update_mutex, update_spin, update_ticket, update_mcs;

/* What two workers share: 64 bytes of a line each, APART. All zeros to begin with. */
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

/* One word is changed from 0 to 1 by one side, from 1 to 0 by the other: each tries until it can. */
exchange exchange_compare_exchange;
/* The same word, read until it is one's turn, then stored to. */
exchange exchange_store_load;
/* Each side stores to a line of its own, and reads the other's. */
exchange exchange_two_lines;
/*
 * Side 0 writes 64 bytes of a line, side 1 reads them; it says how far it has come on another line, so that no more than RING are on their way.
 * 2 * turns lines are sent, a multiple of 2 * RING.
 */
exchange exchange_message;

#endif
