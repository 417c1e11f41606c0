/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stealing: a deque a thread. A thread without actors takes the oldest of another one, at random.
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

/* What comes from outside of the crew is in inboxes, which any thread may empty. */
static struct actor *from_inbox(struct crew_hand *h, struct crew_hand *of)
{
	struct actor_queue found = { NULL, NULL };
	struct actor *a;

	if (!crew_empty_inbox(of, &found))
		return NULL;
	while ((a = actor_queue_take(&found)))
		deque_add(&h->deque, a, memory_order_seq_cst);
	/* what was taken along is not to wait for the first of them */
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

/* All the others once, from a random one on. */
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
	/* what comes from outside is not left until there is nothing else */
	struct actor *a = from_inbox(h, h);

	if (!a)
		a = own(h);
	return a ? a : steal(h);
}

static void schedule(struct crew *c, struct crew_hand *h, struct actor *a)
{
	if (h)
		deque_add(&h->deque, a, memory_order_seq_cst);
	else
		crew_deliver(c, a->home, a);
	crew_wake_one(c);
}

/*
 * This thread itself looks into its deque at once, so nobody has to be woken for one actor; where
 * there are more, a look at what may be old is enough: it comes back with each message.
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
