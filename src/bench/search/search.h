/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shared by the parts of the benchmark: parameters, variants, values derived from them, and the
 * state.
 */
#ifndef LOCUS_SEARCH_H
#define LOCUS_SEARCH_H

#include <stdbool.h>

#include "bench/search/remote.h"
#include "bench/search/searchers.h"
#include "benchmark.h"
#include "machine/threads/team.h"

/* The parameters, and the choices of TYPE and SEARCH, in their order. */
enum { SIZE_OF_ARRAY, TYPE, SEARCH, PACKET, KEYS, SKEW, PAGES };
enum { U32, U64 };
enum { BRANCHY, BRANCHLESS };

/* The properties of a variant. */
struct way {
	enum {
		FLOW,	   /* struct flow */
		PARTITION, /* struct partitioned */
		OWN,	   /* best_search() */
		REMOTE,	   /* struct remote */
	} kind;
	/*
	 * by_range: keys go to the owner of their range; apart: the owner searches only its range
	 */
	bool by_range, apart;
	bool tree;     /* keys are looked up in the tree, not in the array */
	bool weighted; /* ranges are cut by the weight of the keys */
	bool stealing; /* searchers without packets steal from others */
};

static inline const struct way *way_of(const struct trial *t)
{
	return t->variant->data;
}

/* --- counts and sizes --- */
unsigned dispatchers_of(const struct trial *); /* workers before the searchers */
unsigned searchers_of(const struct trial *);
unsigned streams_of(const struct trial *); /* streams of keys of this process */
bool has_tree(const struct trial *);

unsigned width_of(const struct trial *);  /* bytes of a key */
size_t elements_of(const struct trial *); /* elements of the array, on all ranks */
/* elements that a rank holds; rank 0 has the most */
size_t held_of(const struct trial *, unsigned rank);
/*
 * elements for which memory is mapped: the same on all ranks, so that either all or none have room
 */
size_t padded_of(const struct trial *);
size_t stream_keys(const struct trial *);
uint32_t block_packets(const struct trial *); /* partitioned: packets of a worker in a sample */
unsigned copies_of(const struct trial *);     /* the most copies of the tree */
double keys_a_unit(const struct trial *);     /* keys in one packet of each stream of all ranks */

/* Bytes. Strides between the memory of threads are whole pages. */
size_t packet_room(const struct trial *); /* a packet's keys */
size_t own_stride(const struct trial *);  /* a searcher's ring, copy of a packet and answers */
size_t stream_stride(const struct trial *);
size_t block_stride(const struct trial *); /* 0: not partitioned */
size_t tree_room(const struct trial *);	   /* a copy of the tree; 0: no tree */
size_t remote_room(const struct trial *);  /* 0: not distributed */

/* See struct benchmark. */
struct needs search_needs(const struct trial *);

enum { SEARCH_METRICS = 17 };
extern const struct metric search_metrics[SEARCH_METRICS];
/* See struct ops. */
void search_collect(void *state, const struct trial *, struct result *);

/*
 * The state of a trial of search: the array, the keys, the searchers, and what some variants add.
 */
struct state {
	struct flow flow;
	const struct way *way;
	struct team *team;
	struct recipe recipe;
	struct ranges ranges; /* a range of each searcher; distributed: of each rank */
	struct part *part;    /* by searcher */
	struct outlet *outlet;
	void *array;
	size_t first, held; /* elements of this rank: the first one's index, and how many */
	size_t padded;	    /* elements with padding */
	struct stream *stream;
	/* how many this process has; the number of its first one among all ranks' streams */
	unsigned streams, first_stream;
	unsigned searchers;
	/* ring, copy of a packet and answers of each searcher, own_stride bytes apart */
	unsigned char *own;
	size_t own_stride;
	struct partitioned partitioned;
	/*
	 * A copy of the tree above the array, if the variant has one: on each node whose threads
	 * search it, built by the node's first thread. Distributed: one on each rank
	 */
	struct copy {
		struct tree tree;
		void *memory;
		unsigned maker;
		int node;
	} * copy;
	unsigned copies;
	tree_search *tree_search;
	fetch *fetch;
	double build_time; /* s, of the first copy */
	struct remote remote;
	void *remote_memory;
	/*
	 * one for each searcher, then one for all; NULL: the variant does not time single packets
	 */
	struct histogram *times;
	struct searcher searcher[];
};

/* Maps all memory, untouched, and chooses the kernels. NULL with errno; see struct ops. */
void *search_prepare(const struct trial *);
void search_release(void *state);

/* First element of the part of this rank's array that a searcher touches first. */
size_t piece_begin(const struct state *, unsigned searcher);

#endif
