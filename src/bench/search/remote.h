/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An array that is divided over ranks: each key travels to the rank whose part it belongs to, and
 * the answer travels back.
 *
 * In rounds of so many packets a thread: while the keys of one are under way, those of the round
 * before are searched, and the answers of the one before that come in. A round's keys may all
 * belong to one rank; there is room for that, and for no more.
 */
#ifndef LOCUS_SEARCH_REMOTE_H
#define LOCUS_SEARCH_REMOTE_H

#include "bench/search/searcher.h"
#include "bench/search/tree.h"
#include "benchmark.h"

/*
 * Rounds that are somewhere between grouped and added up: one is grouped, one searched, one added
 * up.
 */
enum { ROUNDS_AT_ONCE = 3 };

/*
 * What goes between ranks in a round. Pieces are by rank; that of the rank itself stays where it
 * is.
 */
struct remote_round {
	struct piece *keys, *asked; /* ours, to their owners; those of others, from them */
	/* answers to others; those to ours, in the order of the keys */
	struct piece *found, *answers;
	unsigned char *room_for_keys, *room_for_asked, *room_for_found, *room_for_answers;
	size_t count;		  /* of our keys */
	void *asking, *answering; /* exchanges under way */
};

/* What a thread brings to a round: its keys, grouped by rank. */
struct remote_own {
	unsigned char *block;
	uint32_t *cut, *next; /* ranks + 1, ranks */
};

struct remote {
	const struct ranks *ranks; /* NULL: this process has it all */
	struct team *team;
	const struct ranges *ranges; /* of the array, a part for each rank */
	const struct tree *tree;     /* of this rank's part */
	tree_search *search;
	partition *partition;
	struct stream *stream;	   /* by thread */
	struct searcher *searcher; /* likewise */
	unsigned threads;
	uint32_t packets; /* of a thread in a round */
	struct remote_round round[ROUNDS_AT_ONCE];
	struct remote_own *own; /* by thread */
	/* bytes to other ranks, keys and answers, since the start */
	uint64_t sent;
};

/*
 * Packets of a thread that go in a round: so few that what all ranks together may send to one fits
 * into 64 MiB there, if a packet of each thread does; and the bytes of memory that remote_open()
 * wants.
 */
uint32_t remote_packets(unsigned ranks, unsigned threads, uint32_t packet, unsigned width);
size_t remote_bytes(unsigned ranks, unsigned threads, uint32_t packet, unsigned width);

/* In memory that begins at a multiple of APART. What is above `packets` has been set. */
void remote_open(struct remote *, void *memory);

/* All threads of all ranks: so many packets of each one's stream, the same number everywhere. */
void remote_search(struct remote *, struct worker *, uint64_t packets);

#endif
