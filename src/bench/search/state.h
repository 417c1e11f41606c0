/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The state of a trial of search: the array, the keys, the searchers, and what some variants add.
 */
#ifndef LOCUS_SEARCH_STATE_H
#define LOCUS_SEARCH_STATE_H

#include "bench/search/flow.h"
#include "bench/search/partitioned.h"
#include "bench/search/remote.h"
#include "bench/search/parameters.h"

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
	unsigned streams, first_stream; /* of this process; the first one's number among all */
	unsigned searchers;
	/* ring, copy of a packet and answers of each searcher, own_stride bytes apart */
	unsigned char *own;
	size_t own_stride;
	struct partitioned partitioned;
	/*
	 * The tree above the array, where there is one: on each node whose threads search it, built
	 * by the first of them. Distributed: one on each rank
	 */
	struct copy {
		struct tree tree;
		void *memory;
		unsigned maker;
		int node;
	} *copy;
	unsigned copies;
	tree_search *tree_search;
	fetch *fetch;
	double build_time; /* s, of the first copy */
	struct remote remote;
	void *remote_memory;
	/*
	 * of each searcher, and of all together; NULL: the variant has no times of single packets
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
