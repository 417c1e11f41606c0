/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/hashmap/hashmap.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "kit/random.h"
#include "kit/shares.h"
#include "machine/memory/region.h"
#include "machine/topology/topology.h"

/* The tables and locks: on the first thread's node, or interleaved. */
static struct region *map_shared(const struct trial *t, size_t bytes)
{
	struct region *r = region_map(t->arena, "tables and locks", bytes, pages_of(t));
	const int node = t->place[0].node;

	if (!r)
		return NULL;
	if (t->value[PLACEMENT].choice == INTERLEAVE) {
		region_even(r);
		return region_interleave(r) ? NULL : r;
	}
	region_home(r, 0, bytes, node);
	region_user(r, 0, bytes, node);
	return r;
}

static bool get_memory(struct state *s, const struct trial *t)
{
	const size_t own = s->kind->own(&s->shape);

	if (s->shared) {
		struct region *shared = map_shared(t, s->shared);

		if (!shared)
			return false;
		s->memory.shared = region_base(shared);
	}
	if (own) {
		s->memory.pool = pool_open(t, "the map's entries", own, pages_of(t));
		if (!s->memory.pool)
			return false;
	}
	s->memory.costs = apart_alloc(t->threads * sizeof(struct map_costs));
	s->times = apart_alloc((t->threads + 1) * sizeof(struct histogram));
	return s->memory.costs && s->times;
}

void hashmap_release(void *state)
{
	struct state *s = state;

	if (s->map)
		s->kind->destroy(s->map);
	pool_close(s->memory.pool);
	free(s->memory.costs);
	free(s->times);
	free(s);
}

void *hashmap_prepare(const struct trial *t)
{
	struct state *s = apart_alloc(sizeof(*s) + t->threads * sizeof(s->own[0]));

	if (!s)
		return NULL;
	s->kind = kind_of(t);
	s->shape = shape_of(t);
	s->mix = mix_of(t);
	s->team = t->team;
	s->fresh = t->value[OPERATIONS].count > 0;
	s->batches = t->value[CALLS].choice == BATCHES && s->kind->batch;
	s->every = s->batches ? 0 : t->value[EVERY].count;
	s->shared = s->kind->shared(&s->shape);
	if (!get_memory(s, t)) {
		const int error = errno;

		hashmap_release(s);
		errno = error;
		return NULL;
	}
	for (unsigned i = 0; i < t->threads; i++) {
		s->own[i].stream = random_word(t->seed + t->allocation, i);
		s->own[i].times = &s->times[i];
	}
	return s;
}

/* First touch of all memory: no page fault is timed. */
void hashmap_enter(void *state, struct worker *self)
{
	struct state *s = state;

	if (!self->index && s->shared)
		memset(s->memory.shared, 0, s->shared);
	if (s->memory.pool)
		pool_touch(s->memory.pool, self);
}

void hashmap_begin(const struct state *s, struct worker *self)
{
	if (s->kind->begin)
		s->kind->begin(s->map, self);
}

void hashmap_end(const struct state *s, struct worker *self)
{
	if (s->kind->end)
		s->kind->end(s->map, self);
}

/* Inserts a thread's share of the keys with which the map begins. */
static void fill(void *state, struct worker *self)
{
	struct state *s = state;
	struct own *own = &s->own[self->index];
	uint64_t value[MAP_MOST_WORDS];
	const uint64_t last = share_begin(s->mix.range, self->index + 1, self->threads);

	own->keys = 0;
	hashmap_begin(s, self);
	if (self->failed)
		return;
	for (uint64_t i = share_begin(s->mix.range, self->index, self->threads); i < last; i++) {
		const uint64_t key = mix_key(i);

		if (!mix_holds(&s->mix, i))
			continue;
		for (unsigned w = 0; w < s->shape.words; w++)
			value[w] = mix_word(key, 0, w);
		own->keys += s->kind->insert(s->map, self, key, value) == MAP_ABSENT;
		if (s->kind->rest && i % MAP_BLOCK == 0)
			s->kind->rest(s->map, self);
	}
	hashmap_end(s, self);
}

static void new_map(struct state *s)
{
	if (s->map)
		s->kind->destroy(s->map);
	if (s->memory.pool)
		pool_reset(s->memory.pool);
	s->map = s->kind->create(&s->shape, &s->memory);
	if (s->map)
		team_run(s->team, fill, s);
}

void hashmap_reset(void *state)
{
	struct state *s = state;

	if (!s->map || s->fresh)
		new_map(s);
	memset(s->memory.costs, 0, s->shape.threads * sizeof(struct map_costs));
}

int64_t hashmap_expected(const struct state *s, unsigned threads)
{
	int64_t keys = 0;

	for (unsigned i = 0; i < threads; i++)
		keys += s->own[i].keys;
	return keys;
}
