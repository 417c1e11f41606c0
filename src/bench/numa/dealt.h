/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A loop with OpenMP's schedule(dynamic, chunk): each chunk goes to the worker that asks next. As
 * in libgomp and LLVM's runtime, the workers add to one shared counter, and meet at a barrier after
 * each loop. The team is in an OpenMP region for the whole run, so `omp for` itself, which all
 * threads of a region must reach, cannot serve trials with fewer threads.
 */
#ifndef LOCUS_NUMA_DEALT_H
#define LOCUS_NUMA_DEALT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/apart.h"
#include "base/arithmetic.h"
#include "machine/threads/team.h"

/*
 * Loops use the two counters in turn: while one deals, the other is set to 0 for the next loop.
 * Zeroed before the first loop.
 */
struct dealt {
	struct {
		_Alignas(APART) atomic_size_t taken; /* chunks */
	} counter[2];
	_Alignas(APART) size_t elements, chunk; /* of the loop; of a chunk */
};

static inline size_t dealt_chunks(const struct dealt *d)
{
	return (d->elements + d->chunk - 1) / d->chunk;
}

static inline size_t dealt_begin(const struct dealt *d, size_t chunk)
{
	return smaller(chunk * d->chunk, d->elements);
}

/* Before a worker's part of the n-th loop. */
static inline void dealt_enter(struct dealt *d, uint64_t n, const struct worker *self)
{
	if (self->index == 0)
		atomic_store_explicit(&d->counter[(n + 1) % 2].taken, 0, memory_order_relaxed);
}

/* The next chunk of the n-th loop; false: there is none. */
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

#endif
