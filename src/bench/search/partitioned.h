/* SPDX-License-Identifier: Apache-2.0 */
/*
 * No dispatcher: all threads group the keys of their blocks by range, in place; then each thread
 * looks up the keys of its own range from all blocks.
 */
#ifndef LOCUS_SEARCH_PARTITIONED_H
#define LOCUS_SEARCH_PARTITIONED_H

#include "bench/search/searcher.h"
#include "solve/tree/tree.h"
#include "machine/threads/team.h"

struct partitioned {
	struct team *team;
	const struct ranges *ranges; /* one for each thread */
	const struct part *part;     /* by thread */
	search *search;		  /* of the part */
	tree_search *tree_search; /* of the searcher's tree, instead; NULL: of the part */
	partition *partition;
	struct stream *stream;	   /* by thread */
	struct searcher *searcher; /* likewise */
	uint32_t packets;	   /* of each thread's block */
	unsigned char *blocks;	   /* by thread, `stride` bytes apart */
	size_t stride;
	uint32_t *cuts; /* of each thread's block: threads + 1, and as many again for partition() */
};

/* Before each sample: fills the blocks with the next, unordered keys of each stream. */
void partitioned_reset(struct partitioned *);
/* A sample, to be called by each thread. */
void partitioned_search(struct partitioned *, struct worker *);

#endif
