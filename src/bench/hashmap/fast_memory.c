/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/hashmap/fast_memory.h"

#include <string.h>

#include "base/arithmetic.h"
#include "solve/map/cmap.h"
#include "kit/spin.h"

/* At the start of a piece of memory that was given back. */
struct given {
	struct given *next;
	size_t bytes;
};

struct fast_memory {
	_Alignas(APART) struct spin_lock lock;
	struct given *given;
	/* memory that was never taken: zero */
	unsigned char *fresh, *end;
};

/* As many as the map may count: handles count in steps of CMAP_UNCOUNTED. */
static size_t most_keys(const struct map_shape *shape)
{
	return shape->keys + (size_t)shape->threads * CMAP_UNCOUNTED;
}

size_t fast_capacity(const struct map_shape *shape)
{
	return smaller(shape->buckets, most_keys(shape));
}

size_t fast_memory_bytes(const struct map_shape *shape)
{
	return sizeof(struct fast_memory) + cmap_most_bytes(fast_capacity(shape), most_keys(shape));
}

/* The end of a piece that is large enough; NULL: there is none. */
static void *take_given(struct fast_memory *m, size_t bytes)
{
	for (struct given **p = &m->given; *p; p = &(*p)->next) {
		struct given *piece = *p;

		if (piece->bytes < bytes)
			continue;
		piece->bytes -= bytes;
		if (!piece->bytes)
			*p = piece->next;
		return (unsigned char *)piece + piece->bytes;
	}
	return NULL;
}

static void *take(void *from, size_t bytes)
{
	struct fast_memory *m = from;
	void *fresh = NULL, *given = NULL;

	spin_lock_acquire(&m->lock);
	if (bytes <= (size_t)(m->end - m->fresh)) {
		fresh = m->fresh;
		m->fresh += bytes;
	} else {
		given = take_given(m, bytes);
	}
	spin_lock_release(&m->lock);
	return given ? memset(given, 0, bytes) : fresh;
}

static void give(void *from, void *memory, size_t bytes)
{
	struct fast_memory *m = from;
	struct given *piece = memory;

	spin_lock_acquire(&m->lock);
	*piece = (struct given){ m->given, bytes };
	m->given = piece;
	spin_lock_release(&m->lock);
}

struct cmap_memory fast_memory_open(const struct map_shape *shape, void *shared)
{
	struct fast_memory *m = shared;
	unsigned char *begin = (unsigned char *)(m + 1);

	/* an earlier map has written here */
	if (m->fresh)
		memset(begin, 0, (size_t)(m->fresh - begin));
	*m = (struct fast_memory){ .fresh = begin,
				   .end = (unsigned char *)shared + fast_memory_bytes(shape) };
	return (struct cmap_memory){ take, give, m };
}
