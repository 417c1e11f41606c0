/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A map of hashmap without a trial: its memory comes from malloc(), limited by the test. MAPS lists
 * all kinds: a test that loops over it holds for each.
 */
#ifndef LOCUS_MAPS_H
#define LOCUS_MAPS_H

#include <stdlib.h>
#include <string.h>

#include "base/apart.h"
#include "bench/hashmap/map.h"

struct map_row {
	const char *name;
	const struct map_kind *kind;
	unsigned words;			/* of a value, at most */
	const char *(*available)(void); /* NULL: always */
	bool no_entries;		/* it uses tables only, none of the pool's memory */
};
static const struct map_row MAPS[] = {
	{ "striped", &striped_map, MAP_MOST_WORDS },
	{ "striped-waitfree", &waitfree_map, MAP_MOST_WORDS },
	{ "library", &library_map, MAP_MOST_WORDS, library_available },
	{ "best", &fast_map, 1, .no_entries = true },
};
enum { MAPS_LENGTH = sizeof(MAPS) / sizeof(*MAPS), MAPS_MOST_THREADS = 8 };

/* The next available row; after NULL, the first. NULL: no more rows. */
static inline const struct map_row *maps_next(const struct map_row *row)
{
	for (row = row ? row + 1 : MAPS; row < MAPS + MAPS_LENGTH; row++)
		if (!row->available || !row->available())
			return row;
	return NULL;
}

struct map_world {
	const struct map_kind *kind;
	struct map_shape shape;
	struct map_memory memory;
	unsigned char *entries;
	struct worker *worker;
	void *map;
};

static const struct map_shape maps_small = { .threads = 1,
					     .stripes = 4,
					     .buckets = 4,
					     .load = 1,
					     .words = 1,
					     .keys = 1000,
					     .share = 1000,
					     .reclaim = true,
					     .lock_stride = 16,
					     .size_stride = 4 };

/* `own`: bytes of entries for each thread; 0: as many as the shape needs. */
static inline struct map_world maps_open(const struct map_kind *kind, const struct map_shape *shape,
					 size_t own)
{
	struct map_world w = { .kind = kind, .shape = *shape };
	struct pool *pool = apart_alloc(sizeof(*pool) + shape->threads * sizeof(pool->part[0]));
	const size_t each = (own ? own : kind->own(shape)) + APART - 1;

	w.entries = apart_alloc(shape->threads * (each / APART * APART));
	pool->name = "the entries";
	pool->workers = shape->threads;
	for (unsigned i = 0; i < shape->threads; i++) {
		struct pool_part *part = &pool->part[i];

		part->next = part->begin = (uintptr_t)w.entries + i * (each / APART * APART);
		part->end = part->begin + each / APART * APART;
	}
	w.memory = (struct map_memory){ .shared = apart_alloc(kind->shared(shape)),
					.pool = pool,
					.costs = apart_alloc(shape->threads *
							     sizeof(struct map_costs)) };
	w.worker = apart_alloc(shape->threads * sizeof(struct worker));
	for (unsigned i = 0; i < shape->threads; i++)
		w.worker[i].index = i;
	w.map = kind->create(shape, &w.memory);
	return w;
}

static inline void maps_close(struct map_world *w)
{
	w->kind->destroy(w->map);
	free(w->memory.shared);
	free(w->memory.pool);
	free(w->memory.costs);
	free(w->entries);
	free(w->worker);
}

static inline void maps_call(void (*function)(void *, struct worker *), struct map_world *w,
			     unsigned thread)
{
	if (function)
		function(w->map, &w->worker[thread]);
}

/* The key whose hash is this: the inverse of map_hash(), to make keys that collide. */
static inline uint64_t maps_key_of(uint64_t hash)
{
	/* 0xc4ceb9fe1a85ec53 and 0xff51afd7ed558ccd, inverted modulo 2^64 */
	hash = (hash ^ hash >> 33) * UINT64_C(0x9cb4b2f8129337db);
	hash = (hash ^ hash >> 33) * UINT64_C(0x4f74430c22a54005);
	return hash ^ hash >> 33;
}

#endif
