/* SPDX-License-Identifier: Apache-2.0 */
/* What a trial of search holds: the array, the keys, the searchers, and what its way adds. */
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
	struct ranges ranges; /* of each searcher; distributed: of each rank */
	struct part *part;    /* by searcher */
	struct outlet *outlet;
	void *array;
	size_t first, held; /* elements that are here: from which on, and how many */
	size_t padded;	    /* elements, with those behind the end */
	struct stream *stream;
	unsigned streams, first_stream; /* those of this process, of all */
	unsigned searchers;
	/* ring, copy of a packet and answers of each searcher, own_stride bytes apart */
	unsigned char *own;
	size_t own_stride;
	struct partitioned partitioned;
	/* best, distributed */
	struct tree tree;
	tree_search *tree_search;
	void *tree_memory;
	double build_time; /* s */
	struct remote remote;
	void *remote_memory;
	struct searcher searcher[];
};

/* Maps all memory, untouched, and chooses the kernels. NULL with errno; see struct ops. */
void *search_prepare(const struct trial *);
void search_release(void *state);

/* The piece of the array here that a searcher touches first ends where the next one's begins. */
size_t piece_begin(const struct state *, unsigned searcher);

#endif
