/* SPDX-License-Identifier: Apache-2.0 */
/* The parameters of search, and the properties of a variant. */
#ifndef LOCUS_SEARCH_PARAMETERS_H
#define LOCUS_SEARCH_PARAMETERS_H

#include <stdbool.h>

#include "benchmark.h"

/* The parameters, and the choices of TYPE and SEARCH, in their order. */
enum { SIZE_OF_ARRAY, TYPE, SEARCH, PACKET, KEYS, SKEW, PAGES };
enum { U32, U64 };
enum { BRANCHY, BRANCHLESS };

/* The properties of a variant. */
struct way {
	enum {
		FLOW,	   /* flow.h */
		PARTITION, /* partitioned.h */
		OWN,	   /* best.h */
		REMOTE,	   /* remote.h */
	} kind;
	/*
	 * by_range: keys go to the owner of their range; apart: the owner searches only its range
	 */
	bool by_range, apart;
	bool tree;     /* keys are looked up in the tree, not in the array */
	bool weighted; /* ranges are cut by the weight of the keys */
	bool stealing; /* searchers without packets take those of others */
};

static inline const struct way *way_of(const struct trial *t)
{
	return t->variant->data;
}

#endif
