/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "bench/sharing/sharing.h"

enum { MOST_LINES = 1024, MOST_PLAYERS = 1024 };

unsigned handover_meetings(const struct trial *t)
{
	return (unsigned)t->value[LINES].count;
}

size_t handover_bytes(const struct trial *t)
{
	return (size_t)handover_meetings(t) * (t->threads / 2) * sizeof(struct lines);
}

bool handover_applies(const struct trial *t, const char **why_not)
{
	*why_not = "each pair is measured with 1 to 1024 lines";
	if (!t->value[LINES].count || t->value[LINES].count > MOST_LINES)
		return false;
	*why_not = "a line goes between 1024 CPUs at most: choose some with --threads or --bind";
	return t->threads <= MOST_PLAYERS;
}

void *handover_prepare(const struct trial *t)
{
	static exchange *const exchanges[] = { exchange_compare_exchange, exchange_store_load, exchange_two_lines, exchange_message };
	struct handover *h = calloc(1, sizeof(*h));

	if (!h)
		return NULL;
	h->exchange = exchanges[t->value[PROTOCOL].choice];
	h->meetings = handover_meetings(t);
	h->tables = t->threads / 2;
	h->lines = region_on_node(t->arena, "shared lines", handover_bytes(t), (int)t->value[HOME].count);
	if (h->lines)
		return h;
	free(h);
	return NULL;
}

struct lines *handover_lines(const struct handover *h, unsigned meeting, unsigned table)
{
	return &h->lines[(size_t)meeting * h->tables + table];
}

/* Rounded up so that every exchange leaves its lines as they were. A turn is two hand-overs: to the other side, and back. */
void handover_work(void *state, struct worker *self)
{
	const struct handover *h = state;
	const uint64_t lines = RING, turns = (self->count + 2 * lines - 1) / (2 * lines) * lines;

	h->exchange(handover_lines(h, self->meeting, self->group), self->role, turns);
	self->done = 2 * turns;
}

const char *handover_verify(void *state, const struct trial *t)
{
	const struct handover *h = state;

	(void)t;
	for (size_t i = 0; i < (size_t)h->meetings * h->tables; i++)
		for (unsigned j = 0; j < RING; j++)
			if (h->lines[i].line[j].word)
				return "a line was handed over more often one way than the other";
	return NULL;
}
