/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory of a trial for its workers: divided into one piece for each, or a pool that grows.
 *
 * A pool is memory that grows inside work(): each worker has a part of its own, on its node, that
 * is mapped, claimed and touched before the clock starts. To take some of it moves a pointer. The
 * memory belongs to the trial's arena, so its placement is read back like any other.
 *
 *	prepare   pool_open
 *	enter     pool_touch
 *	reset     pool_reset, where each sample begins with an empty pool
 *	work      pool_take
 *	release   pool_close
 */
#ifndef LOCUS_POOL_H
#define LOCUS_POOL_H

#include <stddef.h>
#include <stdint.h>

#include "trial.h"

/*
 * Maps contiguous `pieces` of `bytes` each, on base pages, for the workers from `first` on: each
 * must touch its own piece first, so that it lies on the worker's node. `alone`: no other worker
 * uses it. The arena owns it. Returns NULL as region_map() does.
 */
void *trial_pieces(const struct trial *, const char *name, unsigned first, unsigned pieces,
		   size_t bytes, bool alone);

struct pool_part {
	_Alignas(APART) uintptr_t next, end;
	uintptr_t begin;
	char why[200]; /* the text for worker.failed when it was used up */
};

struct pool {
	const char *name;
	unsigned workers;
	struct pool_part part[]; /* by worker */
};

/*
 * `each`: bytes for each of the trial's workers, rounded up to whole pages. `name`, which stays the
 * caller's, names it in messages: "the entries". NULL with errno, as region_map().
 */
struct pool *pool_open(const struct trial *, const char *name, size_t each, enum pages);
/* NULL is fine. The memory is the arena's: the harness unmaps it. */
void pool_close(struct pool *);

/* Bytes that pool_open() maps: for needs(). */
size_t pool_bytes(const struct trial *, size_t each, enum pages);

/* First touch of the worker's own part. */
void pool_touch(struct pool *, const struct worker *);

/* Makes all of it free again, without clearing it. No worker may be running. */
void pool_reset(struct pool *);

/* Bytes that a worker has taken. */
size_t pool_taken(const struct pool *, unsigned worker);

/* Sets self->failed, so that the trial fails with the reason. */
void *pool_used_up(struct pool *, struct worker *self, size_t bytes);

/*
 * Takes bytes of the worker's own part, at a multiple of `align` (a power of two, at most a page).
 * NULL: it is used up, and the trial has failed; work() may return at once, or continue without the
 * memory.
 */
static inline void *pool_take(struct pool *p, struct worker *self, size_t bytes, size_t align)
{
	struct pool_part *part = &p->part[self->index];
	const uintptr_t at = (part->next + align - 1) & ~(uintptr_t)(align - 1);

	if (__builtin_expect(at > part->end || bytes > part->end - at, 0))
		return pool_used_up(p, self, bytes);
	part->next = at + bytes;
	return (void *)at;
}

#endif
