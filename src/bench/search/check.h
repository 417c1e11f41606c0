/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Is every key answered once, and right? Against the definition of lower_bound, after the fact, by
 * all threads.
 */
#ifndef LOCUS_SEARCH_CHECK_H
#define LOCUS_SEARCH_CHECK_H

#include "bench/search/searcher.h"
#include "machine/threads/team.h"

struct check {
	const struct recipe *recipe;
	const void *array;		 /* NULL: this process has a part only */
	const struct stream *stream;	 /* what was dealt */
	const struct searcher *searcher; /* what was answered */
	unsigned streams, searchers;
};

/* NULL: right; else what is wrong, a constant. */
const char *search_check(const struct check *, struct team *, unsigned threads);

/*
 * lower_bound as its definition says, in any sorted array of the recipe's length and width; in the
 * recipe's own (NULL: made here), it takes two steps at most.
 */
size_t reference(const struct recipe *, const void *array, uint64_t key);

#endif
