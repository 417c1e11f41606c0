/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/hashmap/stripes.h"

#include <string.h>

#include "base/arithmetic.h"

/*
 * Buckets of the last table. The fullest stripe makes the table double, and may have more keys than
 * the mean: 25 % are allowed for.
 */
static size_t most_buckets(const struct map_shape *shape)
{
	size_t buckets = shape->buckets;

	while ((double)buckets * shape->load < (double)shape->keys * 1.25)
		buckets *= 2;
	return buckets;
}

static size_t locks_bytes(const struct map_shape *shape)
{
	return round_up(shape->stripes * shape->lock_stride, APART);
}

static size_t sizes_bytes(const struct map_shape *shape)
{
	return round_up(shape->stripes * shape->size_stride, APART);
}

size_t stripes_bytes(const struct map_shape *shape)
{
	return locks_bytes(shape) + sizes_bytes(shape) +
	       (2 * most_buckets(shape) - shape->buckets) * sizeof(void *);
}

void stripes_open(struct stripes *s, const struct map_shape *shape, const struct map_memory *memory)
{
	unsigned char *at = memory->shared;
	const size_t head = locks_bytes(shape) + sizes_bytes(shape);

	*s = (struct stripes){ .n = shape->stripes,
			       .lock_stride = shape->lock_stride,
			       .size_stride = shape->size_stride,
			       .locks = at,
			       .sizes = at + locks_bytes(shape),
			       .tables = (void **)(at + head),
			       .first = shape->buckets,
			       .most = most_buckets(shape),
			       .load = shape->load,
			       .costs = memory->costs };
	memset(at, 0, head + shape->buckets * sizeof(void *));
}

uint64_t stripes_size(const struct stripes *s)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < s->n; i++)
		sum += atomic_load_explicit(stripes_size_of(s, i), memory_order_relaxed);
	return sum;
}

size_t stripes_used(const struct stripes *s, size_t buckets)
{
	return (size_t)((unsigned char *)s->tables - s->locks) + buckets * sizeof(void *);
}

void stripes_lock_all(const struct stripes *s, unsigned me)
{
	for (unsigned i = 0; i < s->n; i++)
		stripes_lock(s, i, me);
}

void stripes_unlock_all(const struct stripes *s)
{
	for (unsigned i = 0; i < s->n; i++)
		stripes_unlock(s, i);
}
