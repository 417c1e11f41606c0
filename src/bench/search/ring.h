/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Packets of keys from one thread to another: a bounded queue of one producer and one consumer
 * (Lamport 1983). Each side caches the other's counter, and reads it again only if the cached value
 * says "full" or "empty" (Giacomoni et al. 2008). Packets are filled and searched in place.
 *
 * With ring_take_shared() there may be several consumers, under a lock; then all must use it.
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
	/* packets: those in flight at the end must be negligible next to a sample */
	RING = 16,
	RING_SPINS = 1000, /* looks after which a waiting side yields: some 10 us */
};

struct packet {
	uint32_t keys; /* how many */
	_Alignas(64) unsigned char key[];
};

struct ring {
	_Alignas(APART) _Atomic uint64_t put; /* packets so far; the producer's line */
	uint64_t seen_taken;
	_Alignas(APART) _Atomic uint64_t taken; /* the consumer's line */
	uint64_t seen_put;
	struct spin_lock lock;	       /* for several consumers */
	_Alignas(APART) size_t stride; /* bytes of a packet; a read-only line */
	_Alignas(APART) unsigned char packet[];
};

/* Bytes of a packet with so many bytes of keys; packets do not share lines. */
static inline size_t packet_bytes(size_t keys)
{
	return round_up(sizeof(struct packet) + keys, APART);
}

static inline size_t ring_bytes(size_t keys)
{
	return sizeof(struct ring) + RING * packet_bytes(keys);
}

/* Opens a ring in memory of ring_bytes(), aligned to APART. */
static inline void ring_open(struct ring *r, size_t keys)
{
	memset(r, 0, ring_bytes(keys));
	r->stride = packet_bytes(keys);
}

static inline struct packet *ring_at(struct ring *r, uint64_t i)
{
	return (struct packet *)(r->packet + i % RING * r->stride);
}

/* For the producer: a packet to be filled; NULL: the ring is full. */
static inline struct packet *ring_room(struct ring *r)
{
	const uint64_t put = atomic_load_explicit(&r->put, memory_order_relaxed);

	if (put - r->seen_taken == RING)
		r->seen_taken = atomic_load_explicit(&r->taken, memory_order_acquire);
	return put - r->seen_taken == RING ? NULL : ring_at(r, put);
}

/* Passes that packet to the consumer. */
static inline void ring_put(struct ring *r)
{
	atomic_store_explicit(&r->put, atomic_load_explicit(&r->put, memory_order_relaxed) + 1,
			      memory_order_release);
}

/* For the consumer: the first packet; NULL: the ring is empty. */
static inline const struct packet *ring_first(struct ring *r)
{
	const uint64_t taken = atomic_load_explicit(&r->taken, memory_order_relaxed);

	if (taken == r->seen_put)
		r->seen_put = atomic_load_explicit(&r->put, memory_order_acquire);
	return taken == r->seen_put ? NULL : ring_at(r, taken);
}

/* Returns that packet to the producer. */
static inline void ring_took(struct ring *r)
{
	atomic_store_explicit(&r->taken, atomic_load_explicit(&r->taken, memory_order_relaxed) + 1,
			      memory_order_release);
}

/* For any thread; the answer may be outdated on return. */
static inline bool ring_is_empty(const struct ring *r)
{
	return atomic_load_explicit(&r->put, memory_order_acquire) ==
	       atomic_load_explicit(&r->taken, memory_order_relaxed);
}

/*
 * For one of several consumers: copies the first packet; false: the ring is empty. An empty ring is
 * seen without taking the lock.
 */
static inline bool ring_take_shared(struct ring *r, struct packet *copy)
{
	const struct packet *first;

	if (ring_is_empty(r))
		return false;
	spin_lock_acquire(&r->lock);
	first = ring_first(r);
	if (first) {
		memcpy(copy, first, r->stride);
		ring_took(r);
	}
	spin_lock_release(&r->lock);
	return first;
}

#endif
