/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The arrays of a trial of numa, and the placement of their pages: by first touch, by policy, or by
 * migration afterwards.
 */
#ifndef LOCUS_NUMA_ARRAYS_H
#define LOCUS_NUMA_ARRAYS_H

#include "bench/numa/contents.h"
#include "bench/numa/dealt.h"
#include "benchmark.h"

/* What makes the variants differ. */
struct rule {
	/*
	 * which worker touches a page first: the one whose part it is, worker 0, a random one, or
	 * the one that took its chunk in a loop that deals them out (dealt.h)
	 */
	enum { EACH_ITS_PART, FIRST_ALL, AT_RANDOM, AS_DEALT } touch;
	enum { BY_TOUCH, BIND, INTERLEAVE } policy;
	bool moved;    /* migrated afterwards to where it is used */
	bool balanced; /* the kernel is to migrate them: no page has a home */
	bool dealt;    /* used in chunks that are dealt out, not by part: no page has a user */
};

struct arrays {
	const struct rule *rule;
	/* elements of each array; of a cache line, of a page of the system */
	size_t elements, line, page;
	size_t granule;		       /* bytes that are placed together */
	double *base[ARRAYS];	       /* NULL: the kernel does not use it */
	struct region *region[ARRAYS]; /* likewise */
	unsigned threads;
	uint64_t seed; /* of AT_RANDOM */
	long stuck;    /* pages that could not be migrated */
	bool touched;  /* already in arrays_place() */
	struct dealt loop;
};

/* First element of worker i's part, on a line's start, so that no line has two writers. */
static inline size_t arrays_border(const struct arrays *a, unsigned i)
{
	return i == a->threads ? a->elements : a->elements / a->line * i / a->threads * a->line;
}

/*
 * Maps the arrays that the kernel uses, claims their pages, and sets the policy (BIND: to `node`);
 * if the rule says `moved` or AS_DEALT, also touches them (and then migrates them). Needs rule,
 * elements, line, threads, seed and loop set. -1 with errno, or after arena_cannot().
 */
int arrays_place(struct arrays *, const struct trial *, const struct kernel *, enum pages,
		 int node);
/* A worker's first touch; only if not `touched` already. */
void arrays_touch(const struct arrays *, unsigned worker);

#endif
