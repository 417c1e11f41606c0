/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The arrays of a trial of numa, and the placement of their pages: by first touch, by policy, or by
 * migration afterwards.
 */
#ifndef LOCUS_NUMA_ARRAYS_H
#define LOCUS_NUMA_ARRAYS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/apart.h"
#include "base/arithmetic.h"
#include "bench/numa/kernels.h"
#include "benchmark.h"
#include "machine/threads/team.h"

/*
 * A loop with OpenMP's schedule(dynamic, chunk): each chunk goes to the worker that asks next. As
 * in libgomp and LLVM's runtime, the workers add to one shared counter, and meet at a barrier after
 * each loop. The team is in an OpenMP region for the whole run, so `omp for` itself, which all
 * threads of a region must reach, cannot serve trials with fewer threads.
 *
 * Loops use the two counters in turn: while one deals, the other is set to 0 for the next loop.
 * Zeroed before the first loop.
 */
struct dealt {
	struct {
		_Alignas(APART) atomic_size_t taken; /* chunks */
	} counter[2];
	_Alignas(APART) size_t elements, chunk; /* elements of the loop, of a chunk */
};

static inline size_t dealt_chunks(const struct dealt *d)
{
	return (d->elements + d->chunk - 1) / d->chunk;
}

static inline size_t dealt_begin(const struct dealt *d, size_t chunk)
{
	return smaller(chunk * d->chunk, d->elements);
}

/* To be called before a worker's part of the n-th loop. */
static inline void dealt_enter(struct dealt *d, uint64_t n, const struct worker *self)
{
	if (self->index == 0)
		atomic_store_explicit(&d->counter[(n + 1) % 2].taken, 0, memory_order_relaxed);
}

/* Takes the next chunk of the n-th loop; false: none is left. */
static inline bool dealt_next(struct dealt *d, uint64_t n, size_t *chunk)
{
	*chunk = atomic_fetch_add_explicit(&d->counter[n % 2].taken, 1, memory_order_relaxed);
	return *chunk < dealt_chunks(d);
}

static inline void dealt_reset(struct dealt *d)
{
	for (unsigned i = 0; i < 2; i++)
		atomic_store_explicit(&d->counter[i].taken, 0, memory_order_relaxed);
}

/*
 * The contents of the arrays, and the results that kernels must compute from them. Small integers,
 * so that sums are exact in any order; with prime periods, so that no two lines, vectors or pages
 * are equal. The result array starts as a value that no kernel stores.
 */
enum { X, Y, RESULT, ARRAYS };

const char *contents_name(unsigned array);
/* Elements begin..end-1 of an array, which begins at `base`. */
void contents_fill(unsigned array, double *base, size_t begin, size_t end);

/* The correct element i of the result, for a kernel that writes. */
double contents_element(const struct kernel *, size_t i);
/* The correct sum of x[begin..end) over so many passes. */
double contents_sum(size_t begin, size_t end, uint64_t passes);

/* The differences between variants. */
struct rule {
	/*
	 * who touches a page first: the worker whose part it is, worker 0, a random worker, or the
	 * worker that took the page's chunk from a dynamic schedule (struct dealt)
	 */
	enum { EACH_ITS_PART, FIRST_ALL, AT_RANDOM, AS_DEALT } touch;
	enum { BY_TOUCH, BIND, INTERLEAVE } policy;
	bool moved;    /* migrated afterwards to where it is used */
	bool balanced; /* the kernel should migrate them: no page has a home */
	/* used in chunks of a dynamic schedule, not in fixed parts: no page has a known user */
	bool dealt;
};

struct arrays {
	const struct rule *rule;
	/* elements: of each array, of a cache line, of a system page */
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
