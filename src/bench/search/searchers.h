/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Searchers, and the three ways in which keys get to them within a process.
 *
 * A searcher has the array that it searches, its answers, and its times. It reads its CPU's counter
 * around each search, because the result is the time of searching alone, and the harness times the
 * whole sample.
 */
#ifndef LOCUS_SEARCH_SEARCHERS_H
#define LOCUS_SEARCH_SEARCHERS_H

#include <stdatomic.h>
#include <stdbool.h>

#include "bench/search/kernels.h"
#include "kit/histogram.h"
#include "machine/threads/team.h"
#include "solve/tree/tree.h"

/* The part of the array that a searcher searches. */
struct part {
	const void *array;
	size_t n;
	uint32_t first;
};

/* A searcher's times in a sample, in ticks of its CPU's counter. */
struct timesheet {
	uint64_t began, ended;			   /* clock_ticks() */
	uint64_t searching, waiting, partitioning; /* ticks */
	uint64_t keys, packets;			   /* packets: whole ones */
	double ticks, squares;			   /* sums of whole packets' times, and squares */
};

struct searcher {
	_Alignas(APART) struct timesheet timesheet;
	struct histogram *times; /* ticks of whole packets of this sample; NULL: not wanted */
	const struct tree *tree; /* best: on the searcher's node */
	struct ring *ring;
	bool holding;	     /* the ring's first packet is being searched */
	struct packet *copy; /* a copy of a packet that came from a ring with several consumers */
	uint32_t *answers;   /* answers to the last packet's keys */
	const void *last;    /* the last packet's keys; NULL: none */
	size_t last_keys;
	/* answers in all samples since the start: how many, and their sum */
	uint64_t keys, sum;
	double fetched; /* for `best`: key/s that memory allows, see limit_of_memory() */
};

/* Begins a sample: returns clock_ticks(). Not inlined, for the sake of the loops after it. */
__attribute__((noinline)) uint64_t searcher_begin(struct searcher *);

/*
 * Records n answered keys, which must stay in memory, and the ticks taken; if they are a whole
 * packet, also as a packet's time. Not inlined, so that the compiler does not move its work before
 * the reading of the counter.
 */
__attribute__((noinline)) void searcher_note(struct searcher *, const void *keys, size_t n,
					     uint32_t packet, uint64_t ticks);

/*
 * Computes the 99th percentile and the standard deviation, in s, of the times of all whole packets
 * of n searchers; NAN: no packets. A tick of searcher i takes s_per_tick[i]. Overwrites `all` with
 * these times.
 */
struct packet_times {
	double p99, deviation;
};
struct packet_times packet_times(const struct searcher *, const double *s_per_tick, unsigned n,
				 struct histogram *all);

/*
 * 1. A dispatcher deals a stream of keys in packets to searchers, through a ring to each, until
 * time is up and all keys are answered.
 */
struct flow;

/* The next packet for a searcher, and its owner; NULL: none. Valid until the next call. */
typedef const struct packet *take(struct flow *, unsigned me, unsigned *owner);
/* Takes a packet from the searcher's own ring, as its only consumer. */
take take_own;
take take_any; /* takes one from another's ring if its own is empty */

struct flow {
	unsigned searchers;
	search *search;
	take *take;
	deal *deal;
	const struct part *part; /* by owner */
	struct searcher *searcher;
	_Alignas(APART) struct dealer dealer;
	uint64_t began, ended;		     /* clock_ticks(), of this sample */
	_Alignas(APART) _Atomic bool closed; /* no more packets will come */
	/* searchers that have seen `closed`, and have answered all their packets */
	_Alignas(APART) _Atomic unsigned finished;
};

/* To be called before each sample. */
void flow_reset(struct flow *);
/*
 * The dispatcher: deals until *stop, then waits until all keys are answered. Returns how many
 * packets of the stream it dealt, at least one, so that no sample is empty.
 */
uint64_t flow_deal(struct flow *, const _Atomic bool *stop);
void flow_search(struct flow *, unsigned me);

/*
 * 2. No dispatcher: all threads group the keys of their blocks by range, in place; then each thread
 * looks up the keys of its own range in all blocks.
 */
struct partitioned {
	struct team *team;
	const struct ranges *ranges; /* one for each thread */
	const struct part *part;     /* by thread */
	search *search;		     /* searches the part */
	tree_search *tree_search;    /* searches the searcher's tree; NULL: searches the part */
	partition *partition;
	struct stream *stream;	   /* by thread */
	struct searcher *searcher; /* likewise */
	uint32_t packets;	   /* packets of each thread's block */
	unsigned char *blocks;	   /* by thread, `stride` bytes apart */
	size_t stride;
	uint32_t *cuts; /* by block: threads + 1, and the same again as scratch for partition() */
};

/* Before each sample: fills the blocks with the next, unordered keys of each stream. */
void partitioned_reset(struct partitioned *);
/* A sample, to be called by each thread. */
void partitioned_search(struct partitioned *, struct worker *);

/* 3. Each thread looks up the keys of its own stream in a tree, packet after packet. */

/*
 * Packets timed together: enough to make the cost of reading the counter negligible, since one
 * packet may take as little as 0.15 us; and few enough for their answers to fit into the caches.
 */
static inline uint32_t packets_timed(uint32_t packet)
{
	enum { KEYS_TIMED = 1 << 13 };

	return packet < KEYS_TIMED ? KEYS_TIMED / packet : 1;
}

/*
 * Looks up `packets` packets, in batches of at most a packet, for comparison with the other
 * variants. The searcher needs room for the answers of packets_timed() packets.
 */
void best_search(struct searcher *, tree_search *, struct stream *, uint64_t packets);

/*
 * Checks after the samples, with all threads, that every key was answered once, and correctly by
 * the definition of lower_bound.
 */
struct verification {
	const struct recipe *recipe;
	const void *array;		 /* NULL: this process has only a part */
	const struct stream *stream;	 /* what was dealt */
	const struct searcher *searcher; /* what was answered */
	unsigned streams, searchers;
};

/* NULL: correct; else the fault, a constant. */
const char *search_verify(const struct verification *, struct team *, unsigned threads);

/*
 * lower_bound by its definition, in any sorted array of the recipe's length and width. In the
 * recipe's own array (NULL: elements are generated) it takes at most two steps.
 */
size_t search_reference(const struct recipe *, const void *array, uint64_t key);

#endif
