/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/actors/source.h"

/* Looks at the clock before the sender yields: it may have to share its CPU. */
enum { LOOKS = 1000 };

void source_open(struct source *s, double rate, double tick)
{
	s->free = NULL;
	s->ticks = 1 / (rate * tick);
	atomic_init(&s->handed_back, NULL);
}

static struct message *take(struct source *s)
{
	struct message *m;

	if (!s->free)
		s->free = atomic_exchange_explicit(&s->handed_back, NULL, memory_order_acquire);
	m = s->free;
	if (m)
		s->free = m->next;
	return m;
}

/* The next message, once it is due; NULL: the crew is stopped. */
static struct message *wait_for(struct source *s, const struct crew *c, uint64_t due)
{
	struct message *m = NULL;

	for (unsigned turn = 0; !crew_stopped(c); turn++) {
		if (!m)
			m = take(s);
		if (m && clock_ticks() >= due)
			return m;
		relax(turn, LOOKS);
	}
	if (m)
		source_hand_back(s, m);
	return NULL;
}

void source_send(struct source *s, struct crew *c, uint64_t n,
		 struct actor *(*to)(void *, const struct message *, uint64_t i), void *argument)
{
	const uint64_t began = clock_ticks();

	for (uint64_t i = 0; i < n; i++) {
		const uint64_t due = began + (uint64_t)((double)i * s->ticks);
		struct message *m = wait_for(s, c, due);

		if (!m)
			return;
		crew_send_in(c, m, to(argument, m, i), c->every && i % c->every == 0 ? due : 0);
	}
}
