/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/actors/bodies.h"

#include <stdlib.h>

/* Bytes that malloc() takes for a struct bodies_thing with its header, rounded up. */
enum { ALLOCATED = 64 };
_Static_assert(sizeof(struct bodies_thing) + sizeof(size_t) <= ALLOCATED, "see above");

static uint64_t slots_for(uint64_t entries)
{
	uint64_t slots = 2;

	while (slots < 2 * entries)
		slots *= 2;
	return slots;
}

size_t bodies_map_bytes(uint64_t entries)
{
	return sizeof(struct bodies_map) + slots_for(entries) * sizeof(struct bodies_thing *);
}

size_t bodies_things_bytes(uint64_t entries)
{
	return entries * ALLOCATED;
}

/*
 * The slot of the key, or the free one where it belongs. Since entries are never removed, a free
 * slot ends the search.
 */
static struct bodies_thing **place_of(struct bodies_map *m, uint64_t key)
{
	uint64_t i = random_mix(key + 1) & m->mask;

	while (m->slot[i] && m->slot[i]->key != key)
		i = (i + 1) & m->mask;
	return &m->slot[i];
}

static bool put(struct bodies_map *m, uint64_t key)
{
	struct bodies_thing *thing = malloc(sizeof(*thing)), **place;

	if (!thing)
		return false;
	*thing = (struct bodies_thing){ .key = key, .stamp = m->puts++ };
	place = place_of(m, key);
	free(*place);
	*place = thing;
	return true;
}

bool bodies_map_fill(struct bodies_map *m, uint64_t entries)
{
	m->entries = entries;
	m->mask = slots_for(entries) - 1;
	for (uint64_t key = 0; key < entries; key++)
		if (!put(m, key))
			return false;
	return true;
}

void bodies_map_clear(struct bodies_map *m)
{
	for (uint64_t i = 0; m->entries && i <= m->mask; i++)
		free(m->slot[i]);
	m->entries = 0;
}

bool bodies_map_use(struct bodies_map *m, uint64_t nth)
{
	uint64_t random = random_mix(nth + 1);

	if (!put(m, bodies_place(&random, m->entries)))
		return false;
	m->sum += (*place_of(m, bodies_place(&random, m->entries)))->stamp;
	return true;
}

bool bodies_map_right(const struct bodies_map *m, uint64_t ran)
{
	uint64_t found = 0, keys = 0;

	for (uint64_t i = 0; i <= m->mask; i++) {
		const struct bodies_thing *thing = m->slot[i];

		if (!thing)
			continue;
		found++;
		keys += thing->key;
		if (thing->key >= m->entries || thing->stamp >= m->puts)
			return false;
	}
	return found == m->entries && keys == m->entries * (m->entries - 1) / 2 &&
	       m->puts == m->entries + ran;
}
