/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Messages from outside the crew, at a given rate. Each is due at a time that does not depend on
 * how long earlier ones take, and its waiting counts from then. So it includes the time in which
 * the message could not be sent, because all were under way or the sender had no CPU: to leave that
 * out would be coordinated omission.
 */
#ifndef LOCUS_ACTORS_SOURCE_H
#define LOCUS_ACTORS_SOURCE_H

#include "base/apart.h"
#include "bench/actors/crew.h"

struct source {
	struct message *free;				     /* only for the sender */
	double ticks;					     /* from a message to the next */
	_Alignas(APART) struct message *_Atomic handed_back; /* a stack */
};

/* `rate`: messages a second; `tick`: clock_tick(). */
void source_open(struct source *, double rate, double tick);

/* Returns a handled message to the sender; from any thread. */
static inline void source_hand_back(struct source *s, struct message *m)
{
	m->next = atomic_load_explicit(&s->handed_back, memory_order_relaxed);
	while (!atomic_compare_exchange_weak_explicit(&s->handed_back, &m->next, m,
						      memory_order_release, memory_order_relaxed))
		;
}

/*
 * Sends n messages, or fewer if the crew is stopped; one in crew.every is timed. `to` returns the
 * actor that gets message i.
 */
void source_send(struct source *, struct crew *, uint64_t n,
		 struct actor *(*to)(void *, const struct message *, uint64_t i), void *argument);

#endif
