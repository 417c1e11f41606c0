/* SPDX-License-Identifier: Apache-2.0 */
/*
 * best: an actor's home is the thread that ran it last. It waits there, as in dedicated: in the
 * thread's own queue, or in its inbox if another thread scheduled it. A thread without actors takes
 * half of those that wait at the nearest thread that has some, and becomes their home.
 *
 * Only awake actors are moved, with their mailboxes. An awake actor is in one queue, or held by one
 * thread; its holder may write its home. A thread that wakes the actor later sees what its last
 * holder wrote (actor_post), so it reads the right home. So moving the home changes neither the
 * order of messages nor the rule that one thread at a time runs an actor.
 *
 * Each queue is under a lock that costs its owner next to nothing (biased.h). The number of actors
 * in a queue is read without the lock. When it rises from zero, it is exchanged, which is a barrier
 * (biased.h), and then `sleepers` is read; a thread that is about to sleep first increments
 * `sleepers`, and then reads the numbers. So at least one of the two sees the other.
 */
#include "bench/actors/crew.h"

static unsigned waiting_at(const struct crew_hand *h)
{
	return atomic_load_explicit(&h->waiting_actors, memory_order_relaxed);
}

/* To be called with the lock held. */
static inline void set_waiting(struct crew_hand *h, unsigned n)
{
	const unsigned before = waiting_at(h);

	if (n == before)
		return;
	if (before)
		atomic_store_explicit(&h->waiting_actors, n, memory_order_relaxed);
	else
		(void)atomic_exchange(&h->waiting_actors, n);
}

static bool has_mail(const struct crew_hand *h)
{
	return atomic_load_explicit(&h->inbox, memory_order_relaxed);
}

/*
 * For the queue's owner: appends `a`, if it isn't NULL, and the actors that arrived; takes the
 * first.
 */
static inline struct actor *turn_over(struct crew_hand *h, struct actor *a)
{
	unsigned n;

	biased_acquire(&h->lock);
	n = waiting_at(h);
	if (a)
		actor_queue_add(&h->queue, a), n++;
	if (has_mail(h))
		n += crew_empty_inbox(h, &h->queue);
	a = actor_queue_take(&h->queue);
	n -= a != NULL;
	set_waiting(h, n);
	biased_release(&h->lock);
	/* wakes a sleeper, so that the actors left in the queue need not wait for this one */
	if (n && atomic_load(&h->crew->sleepers))
		crew_wake_one(h->crew);
	return a;
}

static void schedule(struct crew *c, struct crew_hand *h, struct actor *a)
{
	if (h && a->home == h->me) {
		biased_acquire(&h->lock);
		actor_queue_add(&h->queue, a);
		set_waiting(h, waiting_at(h) + 1);
		biased_release(&h->lock);
	} else if (crew_deliver(c, a->home, a)) {
		return; /* this woke the thread */
	}
	crew_wake_one(c);
}

/*
 * Takes the older half of the `waiting` actors, in order. To be called with the victim's lock held.
 */
static struct actor_queue half_of(struct crew_hand *victim, unsigned waiting, unsigned *n)
{
	struct actor_queue taken = { NULL, NULL };

	*n = (waiting + 1) / 2;
	for (unsigned i = 0; i < *n; i++)
		actor_queue_add(&taken, actor_queue_take(&victim->queue));
	set_waiting(victim, waiting - *n);
	return taken;
}

/*
 * Makes this thread the home of the actors taken: returns the first, to be run, and queues the
 * others.
 */
static struct actor *move_in(struct crew_hand *h, struct actor_queue *taken, unsigned n)
{
	struct actor *a, *first = actor_queue_take(taken);

	first->home = h->me;
	biased_acquire(&h->lock);
	while ((a = actor_queue_take(taken))) {
		a->home = h->me;
		actor_queue_add(&h->queue, a);
	}
	set_waiting(h, waiting_at(h) + n - 1);
	biased_release(&h->lock);
	h->steals++;
	h->moves += n;
	return first;
}

/*
 * A single waiting actor is soon run where it is: only a thread that would otherwise sleep takes
 * it.
 */
static bool worth_it(const struct crew_hand *h, const struct crew_hand *victim)
{
	const unsigned waiting = atomic_load(&victim->waiting_actors);

	if (waiting > 1)
		return true;
	return atomic_load_explicit(&h->asleep, memory_order_relaxed) &&
	       (waiting || atomic_load(&victim->inbox));
}

static struct actor *steal_from(struct crew_hand *h, struct crew_hand *victim)
{
	struct actor_queue taken;
	unsigned waiting, n;
	struct actor *a;

	while (worth_it(h, victim)) {
		if (!biased_visit(&victim->lock))
			continue;
		waiting = waiting_at(victim) + crew_empty_inbox(victim, &victim->queue);
		taken = half_of(victim, waiting, &n);
		biased_leave(&victim->lock);
		if (!n)
			continue;
		a = move_in(h, &taken, n);
		/* wake a sleeper for the actors left at the victim or queued here */
		if (waiting > 1)
			crew_wake_one(h->crew);
		return a;
	}
	return NULL;
}

/*
 * Tries the other threads, the nearest first; among threads at the same distance, begins with a
 * random one.
 */
static struct actor *steal(struct crew_hand *h)
{
	unsigned from = 0;

	for (enum crew_step step = CREW_SAME_THREAD; step < CREW_STEPS; from = h->near[step++]) {
		const unsigned n = h->near[step] - from, first = n ? crew_draw(h, n) : 0;

		for (unsigned i = 0; i < n; i++) {
			const unsigned victim = h->others[from + (first + i) % n];
			struct actor *a = steal_from(h, crew_hand(h->crew, victim));

			if (a)
				return a;
		}
	}
	return NULL;
}

static struct actor *next(struct crew_hand *h)
{
	struct actor *a = NULL;

	if (atomic_load(&h->waiting_actors) || atomic_load(&h->inbox))
		a = turn_over(h, NULL);
	return a ? a : steal(h);
}

static struct actor *again(struct crew_hand *h, struct actor *a)
{
	/* no other actor waits here, so run this one again */
	if (!waiting_at(h) && !has_mail(h))
		return a;
	return turn_over(h, a);
}

static void run(struct crew_hand *h)
{
	crew_loop(h, next, again);
}

const struct executor executor_best = {
	.schedule = schedule, .next = next, .run = run, .biased = true
};
