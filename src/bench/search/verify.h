/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checks after the samples, with all threads, that every key was answered once, and correctly by
 * the definition of lower_bound.
 */
#ifndef LOCUS_SEARCH_VERIFY_H
#define LOCUS_SEARCH_VERIFY_H

#include "bench/search/searcher.h"
#include "machine/threads/team.h"

struct verification {
	const struct recipe *recipe;
	const void *array;		 /* NULL: this process has only a part */
	const struct stream *stream;	 /* what was dealt */
	const struct searcher *searcher; /* what was answered */
	unsigned streams, searchers;
};

/* NULL: correct; else what is wrong, a constant. */
const char *search_verify(const struct verification *, struct team *, unsigned threads);

/*
 * lower_bound by its definition, in any sorted array of the recipe's length and width. In the
 * recipe's own array (NULL: elements are generated) it takes at most two steps.
 */
size_t search_reference(const struct recipe *, const void *array, uint64_t key);

#endif
