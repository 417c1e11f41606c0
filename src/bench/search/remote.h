/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An array divided among ranks: each key is sent to the rank that owns its range, and the answer is
 * sent back.
 *
 * Rounds of `packets` packets a thread are pipelined: while some rounds send their keys, an earlier
 * round is searched, and the answers of still earlier rounds return. Buffers are large
 * enough for a round whose keys, of all ranks, go to a single rank.
 */
#ifndef LOCUS_SEARCH_REMOTE_H
#define LOCUS_SEARCH_REMOTE_H

#include "bench/search/searchers.h"
#include "solve/tree/tree.h"
#include "benchmark.h"

/*
 * A round is searched BEHIND rounds after it was grouped, and its answers are added up as many
 * later: a rank may be that far behind the others before they have to wait for it.
 */
enum { BEHIND = 2, ROUNDS_AT_ONCE = 2 * BEHIND + 1 };

/* The messages of a round, by rank. A rank's own keys are not copied. */
struct remote_round {
	/* this rank's keys, to their owners; other ranks' keys, to this one */
	struct piece *keys, *asked;
	/* answers to other ranks; answers to this rank's keys, in the keys' order */
	struct piece *found, *answers;
	unsigned char *room_for_keys, *room_for_asked, *room_for_found, *room_for_answers;
	size_t count;		  /* answers to this rank's keys; 0: there was no round yet */
	void *asking, *answering; /* exchanges under way */
};

/* A thread's keys of a round. */
struct remote_own {
	uint32_t *owner; /* by key: the rank */
	/* by rank: how many of them it owns; where the next one goes in room_for_keys */
	size_t *count, *next;
};

struct remote {
	const struct ranks *ranks; /* NULL: only this process */
	struct team *team;
	const struct ranges *ranges; /* parts of the array, one per rank */
	const struct tree *tree;     /* the tree of this rank's part */
	tree_search *search;
	find_owners *find_owners;
	hand_out *hand_out;
	struct stream *stream;	   /* by thread */
	struct searcher *searcher; /* likewise */
	unsigned threads;
	uint32_t packets; /* packets that a thread sends in a round */
	struct remote_round round[ROUNDS_AT_ONCE];
	struct remote_own *own; /* by thread */
	/* bytes sent to other ranks, keys and answers, in this sample */
	uint64_t sent;
};

/*
 * remote_packets: the packets of a thread in a round: at least one, at most 64, and few enough that
 * the keys of all ranks fit into 64 MiB at one rank. remote_bytes: the memory for remote_open().
 */
uint32_t remote_packets(unsigned ranks, unsigned threads, uint32_t packet, unsigned width);
size_t remote_bytes(unsigned ranks, unsigned threads, uint32_t packet, unsigned width);

/* `memory` is aligned to APART. The fields above `packets` must be set. */
void remote_open(struct remote *, void *memory);

/*
 * To be called by all threads of all ranks, with the same number of packets, which each takes from
 * its own stream.
 */
void remote_search(struct remote *, struct worker *, uint64_t packets);

/*
 * For worker 0 of all ranks, after remote_search(): sends the keys and answers of the last rounds
 * once more, all at once, and returns the number of keys.
 */
uint64_t remote_carry(struct remote *);

#endif
