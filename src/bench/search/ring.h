/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Packets of keys from one thread to another: a bounded queue of one producer and one consumer
 * (Lamport 1983), each of which keeps what it last saw of the other's counter, and looks again only
 * when that says "full" or "empty" (Giacomoni et al. 2008). A packet is filled, and searched, where
 * it lies.
 *
 * With ring_take_shared() there may be several consumers; they, and no others, come one at a time.
 */
#ifndef LOCUS_SEARCH_RING_H
#define LOCUS_SEARCH_RING_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/arithmetic.h"
#include "kit/spin.h"
#include "base/apart.h"

enum {
	/* packets: what is on its way at the end has to be little, beside a sample */
	RING = 16,
	RING_SPINS = 1000, /* looks before a side that waits yields: some 10 us */
};

struct packet {
	uint32_t keys; /* how many */
	_Alignas(64) unsigned char key[];
};

struct ring {
	_Alignas(APART) _Atomic uint64_t put; /* so many, so far: the producer's line */
	uint64_t seen_taken;
	_Alignas(APART) _Atomic uint64_t taken; /* the consumer's */
	uint64_t seen_put;
	struct spin_lock lock;	       /* of several consumers */
	_Alignas(APART) size_t stride; /* bytes of a packet; nobody writes this line */
	_Alignas(APART) unsigned char packet[];
};

/* Of a packet of so many bytes of keys; the next one is on another line. */
static inline size_t packet_bytes(size_t keys)
{
	return round_up(sizeof(struct packet) + keys, APART);
}

static inline size_t ring_bytes(size_t keys)
{
	return sizeof(struct ring) + RING * packet_bytes(keys);
}

/* In memory of ring_bytes(), aligned to APART. */
static inline void ring_open(struct ring *r, size_t keys)
{
	memset(r, 0, ring_bytes(keys));
	r->stride = packet_bytes(keys);
}

static inline struct packet *ring_at(struct ring *r, uint64_t i)
{
	return (struct packet *)(r->packet + i % RING * r->stride);
}

/* The producer: a packet to be filled, or NULL: the ring is full. */
static inline struct packet *ring_room(struct ring *r)
{
	const uint64_t put = atomic_load_explicit(&r->put, memory_order_relaxed);

	if (put - r->seen_taken == RING)
		r->seen_taken = atomic_load_explicit(&r->taken, memory_order_acquire);
	return put - r->seen_taken == RING ? NULL : ring_at(r, put);
}

/* ... which is then the consumer's. */
static inline void ring_put(struct ring *r)
{
	atomic_store_explicit(&r->put, atomic_load_explicit(&r->put, memory_order_relaxed) + 1,
			      memory_order_release);
}

/* The consumer: the first packet, or NULL: the ring is empty. */
static inline const struct packet *ring_first(struct ring *r)
{
	const uint64_t taken = atomic_load_explicit(&r->taken, memory_order_relaxed);

	if (taken == r->seen_put)
		r->seen_put = atomic_load_explicit(&r->put, memory_order_acquire);
	return taken == r->seen_put ? NULL : ring_at(r, taken);
}

/* ... which is then the producer's. */
static inline void ring_took(struct ring *r)
{
	atomic_store_explicit(&r->taken, atomic_load_explicit(&r->taken, memory_order_relaxed) + 1,
			      memory_order_release);
}

/* By anybody, and by then maybe not true any more. */
static inline bool ring_is_empty(const struct ring *r)
{
	return atomic_load_explicit(&r->put, memory_order_acquire) ==
	       atomic_load_explicit(&r->taken, memory_order_relaxed);
}

/*
 * One of several consumers: a copy of the first packet; false: the ring is empty. Who finds it so
 * leaves the lock to others.
 */
static inline bool ring_take_shared(struct ring *r, struct packet *copy)
{
	const struct packet *first;

	if (ring_is_empty(r))
		return false;
	spin_acquire(&r->lock);
	first = ring_first(r);
	if (first) {
		memcpy(copy, first, r->stride);
		ring_took(r);
	}
	spin_release(&r->lock);
	return first;
}

#endif
