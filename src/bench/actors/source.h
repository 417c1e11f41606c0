/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Messages from outside, at a set rate: each is due at a time that does not depend on how the last
 * ones fare, and waits from then on. A message that could not be sent when it was due, since all
 * were under way or the sender had no CPU, has waited all the same (else coordinated omission).
 */
#ifndef LOCUS_ACTORS_SOURCE_H
#define LOCUS_ACTORS_SOURCE_H

#include "base/apart.h"
#include "bench/actors/crew.h"

struct source {
	struct message *free;				     /* of the sender */
	double ticks;					     /* from a message to the next */
	_Alignas(APART) struct message *_Atomic handed_back; /* a stack */
};

/* `rate`: messages a second; `tick`: clock_tick(). */
void source_open(struct source *, double rate, double tick);

/* A message that nobody handles: from any thread. */
static inline void source_hand_back(struct source *s, struct message *m)
{
	m->next = atomic_load_explicit(&s->handed_back, memory_order_relaxed);
	while (!atomic_compare_exchange_weak_explicit(&s->handed_back, &m->next, m,
						      memory_order_release, memory_order_relaxed))
		;
}

/*
 * Sends n messages, or until the crew is stopped; one in crew.every is timed. `to` says whose the
 * i-th one is.
 */
void source_send(struct source *, struct crew *, uint64_t n,
		 struct actor *(*to)(void *, const struct message *, uint64_t i), void *argument);

#endif
