/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The measured kernels of search, except the tree: binary search, dealing keys to searchers, and
 * grouping keys, each for keys of 32 and 64 bits. Searches are separate functions, so that
 * a test can read their machine code.
 */
#ifndef LOCUS_SEARCH_KERNELS_H
#define LOCUS_SEARCH_KERNELS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/apart.h"
#include "base/arithmetic.h"
#include "bench/search/recipe.h"
#include "kit/spin.h"

/*
 * Packets of keys from one thread to another: a bounded queue of one producer and one consumer
 * (Lamport 1983). Each side caches the other's counter, and reads it again only if the cached value
 * says "full" or "empty" (Giacomoni et al. 2008). Packets are filled and searched in place.
 *
 * With ring_take_shared() there may be several consumers, under a lock; then all must use it.
 */
enum {
	/* packets; few, so that the packets in flight at the end are negligible next to a sample */
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

/* answers[i]: first + how many of the n elements are less than keys[i] (lower_bound). */
typedef void search(const void *array, size_t n, uint32_t first, const void *keys, size_t count,
		    uint32_t *answers);

/*
 * Each step branches three ways (less, greater, equal), as published. After an equal element it
 * searches on to the left, for the first equal one, in logarithmic time, too.
 */
search search_branchy_32, search_branchy_64;
/* A conditional move chooses the half: no prediction, and a fixed number of steps. */
search search_branchless_32, search_branchless_64;

/*
 * The dispatcher's state, for dealing keys from a stream to the searchers' rings. Only the rings
 * are shared.
 */
struct outlet {
	struct ring *ring;
	struct packet *open; /* being filled; NULL: none */
};

struct dealer {
	struct stream *stream;
	const struct ranges *ranges;
	unsigned outlets, next;
	struct outlet *outlet;
	uint64_t held; /* ticks in which a ring was full */
};

/* Deals the keys of the stream's next packet. In turn: the packet goes to the next searcher. */
typedef void deal(struct dealer *);
deal deal_in_turn;
/* By range: each key goes into the packet for the owner of its range; full packets are sent. */
deal deal_by_range_32, deal_by_range_64;
/* Sends the packets that are not full. */
void deal_rest(struct dealer *);

/*
 * Groups n keys by owner, in place: owner i gets keys[cut[i]] to keys[cut[i + 1] - 1]. Two passes
 * with swaps ("American flag sort", McIlroy, Bostic and McIlroy 1993). `next`: scratch, a number
 * for each owner.
 */
typedef void partition(void *keys, size_t n, const struct ranges *, uint32_t *cut, uint32_t *next);
partition partition_32, partition_64;

/*
 * To group keys by owner elsewhere, in two passes that find each key's owner once. The first notes
 * the owner, and adds to count[owner]; the second copies keys[i] to to[next[owner[i]]], and
 * increments that index.
 */
typedef void find_owners(const void *keys, size_t n, const struct ranges *, uint32_t *owner,
			 size_t *count);
find_owners find_owners_32, find_owners_64;
typedef void hand_out(const void *keys, size_t n, const uint32_t *owner, void *to, size_t *next);
hand_out hand_out_32, hand_out_64;

/* Loads, for each key, the element near its answer; no load waits for another. */
typedef void fetch(const void *array, size_t n, const void *keys, size_t count);
fetch fetch_32, fetch_64;

#endif
