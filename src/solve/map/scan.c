/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Visits all keys in the order of (hash, key). Homes of every table are in the order of the hash,
 * so a scan can go on in another table.
 */
#include <string.h>

#include "solve/map/tables.h"

/* The first pairs of a home and its chain, at or after the cursor, in the order of the scan. */
struct gather {
	struct table_seed seed;
	const struct cmap_cursor *from;
	struct cmap_pair *pair;
	size_t room, n;
	bool more; /* than there is room for */
};

static bool comes_before(struct table_seed seed, uint64_t key, uint64_t hash, uint64_t other)
{
	const uint64_t hash_of_other = table_hash(seed, other);

	return hash < hash_of_other || (hash == hash_of_other && key < other);
}

static void gather(struct gather *g, uint64_t key, uint64_t value)
{
	const uint64_t hash = table_hash(g->seed, key);
	size_t at = g->n;

	if (hash < g->from->hash || (hash == g->from->hash && key < g->from->key))
		return;
	while (at > 0 && comes_before(g->seed, key, hash, g->pair[at - 1].key))
		at--;
	if (at > 0 && g->pair[at - 1].key == key)
		return; /* seen in the chain and in the home, to which it has just been moved */
	g->more |= g->n == g->room;
	if (at == g->room)
		return;
	g->n += g->n < g->room;
	memmove(&g->pair[at + 1], &g->pair[at], (g->n - at - 1) * sizeof(*g->pair));
	g->pair[at] = (struct cmap_pair){ key, value };
}

/* False: the home has changed meanwhile. */
static bool gather_chain(struct gather *g, struct table *t, struct bucket *home, uint64_t home_word)
{
	struct bucket *b = home;
	uint64_t word = home_word;

	g->n = 0;
	g->more = false;
	for (;;) {
		const uint32_t next = bucket_next(bucket_load(&b->chain));

		for (uint64_t slots = word & BUCKET_USED; slots; slots &= slots - 1) {
			const size_t s = bucket_first(slots);

			gather(g, bucket_load(&b->key[s]), bucket_load(&b->value[s]));
		}
		if (!bucket_unchanged(home, home_word))
			return false;
		if (!next)
			return true;
		b = &t->bucket[next];
		word = bucket_load(&b->word);
	}
}

/* Gathers the home of the cursor's hash. Returns the table that has this home. */
static struct table *gather_home(struct cmap_handle *h, struct gather *g)
{
	struct table *t = tables_enter(h);

	for (;;) {
		struct bucket *b = table_home(t, g->from->hash);
		const uint64_t word = bucket_load(&b->word);

		if (!(word & BUCKET_MOVED)) {
			if (gather_chain(g, t, b, word))
				return t;
			continue;
		}
		t = tables_follow(h, t);
		if (!t)
			t = tables_enter(h);
	}
}

static void advance(struct cmap_cursor *c, const struct table *t, const struct gather *g)
{
	if (g->more) {
		c->key = g->pair[g->n - 1].key;
		c->hash = table_hash(g->seed, c->key);
		c->end = c->key == UINT64_MAX && c->hash == UINT64_MAX;
		if (!++c->key)
			c->hash++;
		return;
	}
	c->key = 0;
	c->hash = table_from(t, table_index(t, c->hash) + 1);
	c->end = !c->hash;
}

size_t cmap_scan(struct cmap_handle *h, struct cmap_cursor *c, struct cmap_pair *pair, size_t room)
{
	size_t n = 0;

	while (!c->end && n < room) {
		struct gather g = { h->seed, c, pair + n, room - n };

		advance(c, gather_home(h, &g), &g);
		n += g.n;
	}
	return n;
}
