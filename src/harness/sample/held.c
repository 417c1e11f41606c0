/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "harness/sample/held.h"
#include "harness/sample/series.h"

static void give_back(struct held_arena *e)
{
	arena_close(e->arena);
	e->series->returned = true;
}

static void give_oldest_back(struct held *h)
{
	h->bytes -= h->of[0].bytes;
	give_back(&h->of[0]);
	memmove(h->of, h->of + 1, --h->n * sizeof(*h->of));
}

/* False: no memory. */
static bool has_entry(struct held *h)
{
	const size_t most = h->n < h->most ? h->most : 2 * h->most + 16;
	struct held_arena *grown = most == h->most ? h->of : realloc(h->of, most * sizeof(*grown));

	if (!grown)
		return false;
	h->of = grown;
	h->most = most;
	return true;
}

void held_keep(struct held *h, struct series *s, struct arena *arena, double bytes)
{
	struct held_arena e = { s, arena, bytes };

	if (bytes > h->each || bytes > h->room || !has_entry(h)) {
		give_back(&e);
		return;
	}
	while (h->n && h->bytes + bytes > h->room)
		give_oldest_back(h);
	arena_shut(arena);
	h->of[h->n++] = e;
	h->bytes += bytes;
}

void held_free(struct held *h)
{
	for (size_t i = 0; i < h->n; i++)
		give_back(&h->of[i]);
	free(h->of);
	h->of = NULL;
	h->n = h->most = 0;
	h->bytes = 0;
}
