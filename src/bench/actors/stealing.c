/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stealing: a deque per thread. A thread without actors takes the oldest actor of another thread,
 * chosen at random.
 */
#include "bench/actors/crew.h"

static struct actor *own(struct crew_hand *h)
{
	struct actor *a;
	bool again;

	if (h->crew->newest)
		return deque_take(&h->deque);
	do
		a = deque_steal(&h->deque, &again);
	while (!a && again);
	return a;
}

/* Actors scheduled from outside the crew are in inboxes, which any thread may empty. */
static struct actor *from_inbox(struct crew_hand *h, struct crew_hand *of)
{
	struct actor_queue found = { NULL, NULL };
	struct actor *a;

	if (!crew_empty_inbox(of, &found))
		return NULL;
	while ((a = actor_queue_take(&found)))
		deque_add(&h->deque, a, memory_order_seq_cst);
	/* wakes a sleeper, so that the other actors need not wait for the first */
	if (deque_length(&h->deque) > 1)
		crew_wake_one(h->crew);
	return own(h);
}

static struct actor *steal_from(struct crew_hand *h, struct crew_hand *victim)
{
	struct actor *a;
	bool again;

	do
		a = deque_steal(&victim->deque, &again);
	while (!a && again);
	return a ? a : from_inbox(h, victim);
}

/* Tries each of the other threads once, beginning with a random one. */
static struct actor *steal(struct crew_hand *h)
{
	struct crew *c = h->crew;
	const unsigned first = crew_draw(h, c->threads);

	for (unsigned i = 0; i < c->threads; i++) {
		struct crew_hand *victim = crew_hand(c, (first + i) % c->threads);
		struct actor *a = victim == h ? NULL : steal_from(h, victim);

		if (!a)
			continue;
		h->steals++;
		h->moves++;
		return a;
	}
	return NULL;
}

static struct actor *next(struct crew_hand *h)
{
	/* the inbox comes first, so that its actors do not wait until the deque is empty */
	struct actor *a = from_inbox(h, h);

	if (!a)
		a = own(h);
	return a ? a : steal(h);
}

static void schedule(struct crew *c, struct crew_hand *h, struct actor *a)
{
	if (h)
		deque_add(&h->deque, a, memory_order_seq_cst);
	else if (crew_deliver(c, a->home, a))
		return; /* one thread is awake for it */
	crew_wake_one(c);
}

/*
 * This thread looks into its deque next, so a single actor needs no other thread. If there are
 * more, a relaxed read of `sleepers` is enough: it is repeated after each turn.
 */
static struct actor *again(struct crew_hand *h, struct actor *a)
{
	struct crew *c = h->crew;

	deque_add(&h->deque, a, memory_order_release);
	if (atomic_load_explicit(&c->sleepers, memory_order_relaxed) && deque_length(&h->deque) > 1)
		crew_wake_one(c);
	return next(h);
}

static void run(struct crew_hand *h)
{
	crew_loop(h, next, again);
}

const struct executor executor_stealing = {
	.schedule = schedule, .next = next, .run = run, .deque = true
};
