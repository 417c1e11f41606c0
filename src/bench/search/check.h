/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Is every key answered once, and right? Against the definition of lower_bound, after the fact, by
 * all threads.
 */
#ifndef LOCUS_SEARCH_CHECK_H
#define LOCUS_SEARCH_CHECK_H

#include "bench/search/flow.h"

struct check {
	const struct recipe *recipe;
	const void *array;		 /* NULL: this process has a part only */
	const struct stream *stream;	 /* what was dealt */
	const struct searcher *searcher; /* what was answered */
	unsigned streams, searchers;
};

/* NULL: it is; else what is wrong. */
const char *check(const struct check *, struct team *, unsigned threads);

#endif
