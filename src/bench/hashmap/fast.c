/* SPDX-License-Identifier: Apache-2.0 */
/* best as a kind of map (map.h). Its tables are in the shared block, and it has no entries. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/arithmetic.h"
#include "bench/hashmap/map.h"
#include "kit/spin.h"
#include "solve/map/cmap.h"

/* The head of a piece of memory that was given back. */
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

/* The largest number that the map may count: handles count in steps of CMAP_UNCOUNTED. */
static size_t most_keys(const struct map_shape *shape)
{
	return shape->keys + (size_t)shape->threads * CMAP_UNCOUNTED;
}

/* Keys for which there is room from the start: all, or as many as other maps have buckets. */
static size_t capacity(const struct map_shape *shape)
{
	return smaller(shape->buckets, most_keys(shape));
}

/* Bytes of the block: enough for all tables up to shape.keys. */
static size_t block_bytes(const struct map_shape *shape)
{
	return sizeof(struct fast_memory) + cmap_most_bytes(capacity(shape), most_keys(shape));
}

/* The end of a piece that is large enough, or NULL. */
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

/*
 * Makes the whole block free and zero, except for struct fast_memory at its start. So nodes and
 * pages of tables are read back like other maps', and no page fault is timed when a table grows.
 */
struct cmap_memory fast_memory_open(const struct map_shape *shape, void *shared)
{
	struct fast_memory *m = shared;
	unsigned char *begin = (unsigned char *)(m + 1);

	/* an earlier map has written here */
	if (m->fresh)
		memset(begin, 0, (size_t)(m->fresh - begin));
	*m = (struct fast_memory){ .fresh = begin,
				   .end = (unsigned char *)shared + block_bytes(shape) };
	return (struct cmap_memory){ take, give, m };
}

struct fast {
	struct cmap *map;
	struct cmap_memory memory;
	struct map_costs *costs;
	struct seat {
		_Alignas(APART) struct cmap_handle *handle; /* while its thread is at work */
	} seat[];
};

static size_t no_entries(const struct map_shape *shape)
{
	(void)shape;
	return 0;
}

static void destroy(void *map)
{
	struct fast *m = map;

	cmap_close(m->map);
	free(m);
}

static void *create(const struct map_shape *shape, const struct map_memory *memory)
{
	struct fast *m = apart_alloc(sizeof(*m) + shape->threads * sizeof(m->seat[0]));

	if (!m)
		return NULL;
	m->memory = fast_memory_open(shape, memory->shared);
	m->costs = memory->costs;
	m->map = cmap_open(
		&(struct cmap_options){ .capacity = capacity(shape), .memory = &m->memory });
	if (!m->map) {
		free(m);
		errno = ENOMEM;
		return NULL;
	}
	return m;
}

static void begin(void *map, struct worker *self)
{
	struct fast *m = map;

	m->seat[self->index].handle = cmap_join(m->map);
	if (!m->seat[self->index].handle)
		self->failed = "there was no memory for a thread of the map";
}

static void end(void *map, struct worker *self)
{
	struct fast *m = map;
	struct map_costs *costs = &m->costs[self->index];
	const struct cmap_costs spent = cmap_leave(m->seat[self->index].handle);

	costs->waited += spent.waited;
	costs->grown += spent.moving;
	costs->growths += spent.growths;
	m->seat[self->index].handle = NULL;
}

static struct cmap_handle *handle_of(void *map, const struct worker *self)
{
	return ((struct fast *)map)->seat[self->index].handle;
}

static enum map_answer find(void *map, struct worker *self, uint64_t key, uint64_t *value)
{
	return cmap_find(handle_of(map, self), key, value) ? MAP_PRESENT : MAP_ABSENT;
}

static enum map_answer answer(int result, struct worker *self)
{
	if (result < 0)
		self->failed = "there was no memory for a larger table";
	return result < 0 ? MAP_NO_MEMORY : result ? MAP_ABSENT : MAP_PRESENT;
}

static enum map_answer insert(void *map, struct worker *self, uint64_t key, const uint64_t *value)
{
	return answer(cmap_insert(handle_of(map, self), key, *value), self);
}

static enum map_answer upsert(void *map, struct worker *self, uint64_t key, const uint64_t *value)
{
	return answer(cmap_upsert(handle_of(map, self), key, *value), self);
}

static enum map_answer remove_key(void *map, struct worker *self, uint64_t key)
{
	uint64_t value;

	return cmap_remove(handle_of(map, self), key, &value) ? MAP_PRESENT : MAP_ABSENT;
}

static void batch(void *map, struct worker *self, struct map_operation *operation, unsigned n)
{
	static const enum cmap_kind kind[] = { [MAP_FIND] = CMAP_FIND,
					       [MAP_INSERT] = CMAP_INSERT,
					       [MAP_UPSERT] = CMAP_UPSERT,
					       [MAP_REMOVE] = CMAP_REMOVE };
	struct cmap_operation all[MAP_BLOCK];

	for (unsigned i = 0; i < n; i++)
		all[i] = (struct cmap_operation){ .key = operation[i].key,
						  .value = operation[i].value,
						  .kind = kind[operation[i].action] };
	cmap_batch(handle_of(map, self), all, n);
	for (unsigned i = 0; i < n; i++) {
		struct map_operation *o = &operation[i];

		o->value = all[i].value;
		if (o->action == MAP_FIND || o->action == MAP_REMOVE)
			o->answer = all[i].result ? MAP_PRESENT : MAP_ABSENT;
		else
			o->answer = answer(all[i].result, self);
	}
}

static void each(void *map, struct worker *self, void (*visit)(void *, uint64_t, const uint64_t *),
		 void *argument)
{
	enum { ROOM = 256 };
	struct cmap_pair pair[ROOM];
	struct cmap_cursor cursor = { .hash = 0 };
	size_t n;

	while ((n = cmap_scan(handle_of(map, self), &cursor, pair, ROOM)))
		for (size_t i = 0; i < n; i++)
			visit(argument, pair[i].key, &pair[i].value);
}

static uint64_t size(const void *map)
{
	return cmap_size(((const struct fast *)map)->map);
}

static size_t bytes(const void *map)
{
	return cmap_bytes(((const struct fast *)map)->map);
}

const struct map_kind fast_map = { .shared = block_bytes,
				   .own = no_entries,
				   .huge = true,
				   .create = create,
				   .destroy = destroy,
				   .begin = begin,
				   .end = end,
				   .find = find,
				   .insert = insert,
				   .upsert = upsert,
				   .remove = remove_key,
				   .each = each,
				   .size = size,
				   .bytes = bytes,
				   .batch = batch };
