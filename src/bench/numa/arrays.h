/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The arrays of a trial of numa, and where their pages come to lie: by who touches them first, by
 * the policy, or by a move after that.
 */
#ifndef LOCUS_NUMA_ARRAYS_H
#define LOCUS_NUMA_ARRAYS_H

#include "bench/numa/contents.h"
#include "benchmark.h"

/* What makes the variants differ. */
struct rule {
	enum { EACH_ITS_PART, FIRST_ALL, AT_RANDOM } touch; /* who touches a page first, */
	/* whether that decides where it lies, */
	enum { BY_TOUCH, BIND, INTERLEAVE } policy;
	bool moved; /* and whether it stays there */
};

struct arrays {
	const struct rule *rule;
	size_t elements, line;	       /* of each array; of a cache line */
	size_t granule;		       /* bytes that are placed together */
	double *base[ARRAYS];	       /* NULL: the kernel has no use for it */
	struct region *region[ARRAYS]; /* likewise */
	unsigned threads;
	uint64_t seed; /* of touches at random */
	long stuck;    /* pages that would not move to the node that uses them */
};

/* Where worker i's part begins: on a line, so that no line is stored to by two. */
static inline size_t arrays_border(const struct arrays *a, unsigned i)
{
	return i == a->threads ? a->elements : a->elements / a->line * i / a->threads * a->line;
}

/*
 * Maps those that the kernel uses, claims where their pages are to lie, and sets the policy (BIND:
 * to `node`); those that are moved are touched, too. The rule, elements, line, threads and seed
 * have been set. -1 with errno, or after cannot().
 */
int arrays_place(struct arrays *, const struct trial *, const struct kernel *, enum pages,
		 int node);
/* The first touch of each worker, where arrays are not moved. */
void arrays_touch(const struct arrays *, unsigned worker);

#endif
