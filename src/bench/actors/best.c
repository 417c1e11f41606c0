/* SPDX-License-Identifier: Apache-2.0 */
/*
 * best: an actor has a home, the thread that ran it last, and is scheduled there. A thread without
 * actors takes half of those of the nearest thread that has some, and becomes their home.
 *
 * A queue is under a lock of 4 bytes, which hardly ever has a second one at it: to add an actor and
 * to take the next one is a single acquisition.
 */
#include "bench/actors/crew.h"

static void schedule(struct crew *c, struct crew_hand *h, struct actor *a)
{
	struct crew_hand *home = crew_hand(c, a->home);
	unsigned waiting;

	(void)h;
	spin_lock_acquire(&home->lock);
	actor_queue_add(&home->queue, a);
	waiting = atomic_load_explicit(&home->waiting_actors, memory_order_relaxed) + 1;
	atomic_store(&home->waiting_actors, waiting);
	spin_lock_release(&home->lock);
	/* the actor may be somewhere else by now */
	if (!crew_wake(c, home->me))
		crew_wake_one(c);
}

/* With the lock held. */
static struct actor *first_of(struct crew_hand *h)
{
	struct actor *a = actor_queue_take(&h->queue);

	if (a)
		atomic_store_explicit(
			&h->waiting_actors,
			atomic_load_explicit(&h->waiting_actors, memory_order_relaxed) - 1,
			memory_order_relaxed);
	return a;
}

static struct actor *own(struct crew_hand *h)
{
	struct actor *a;

	if (!atomic_load(&h->waiting_actors))
		return NULL;
	spin_lock_acquire(&h->lock);
	a = first_of(h);
	spin_lock_release(&h->lock);
	return a;
}

/* Half of what waits there, the oldest, in order; *n: how many. */
static struct actor_queue half_of(struct crew_hand *victim, unsigned *n)
{
	struct actor_queue taken = { NULL, NULL };
	unsigned waiting;

	spin_lock_acquire(&victim->lock);
	waiting = atomic_load_explicit(&victim->waiting_actors, memory_order_relaxed);
	*n = (waiting + 1) / 2;
	for (unsigned i = 0; i < *n; i++)
		actor_queue_add(&taken, actor_queue_take(&victim->queue));
	atomic_store_explicit(&victim->waiting_actors, waiting - *n, memory_order_relaxed);
	spin_lock_release(&victim->lock);
	return taken;
}

/* The first of them is to run, the others wait here. */
static struct actor *move_in(struct crew_hand *h, struct actor_queue *taken, unsigned n)
{
	struct actor *a, *first = actor_queue_take(taken);

	if (!first)
		return NULL;
	first->home = h->me;
	spin_lock_acquire(&h->lock);
	while ((a = actor_queue_take(taken))) {
		a->home = h->me;
		actor_queue_add(&h->queue, a);
	}
	n += atomic_load_explicit(&h->waiting_actors, memory_order_relaxed) - 1;
	atomic_store(&h->waiting_actors, n);
	spin_lock_release(&h->lock);
	h->steals++;
	/* what was taken along is not to wait for the first of them */
	if (n)
		crew_wake_one(h->crew);
	return first;
}

/* The others in the order of their distance; of the same distance, from a random one on. */
static struct actor *steal(struct crew_hand *h)
{
	unsigned from = 0;

	for (enum crew_step step = CREW_SAME_THREAD; step < CREW_STEPS; from = h->near[step++]) {
		const unsigned n = h->near[step] - from, first = n ? crew_draw(h, n) : 0;

		for (unsigned i = 0; i < n; i++) {
			struct crew_hand *victim =
				crew_hand(h->crew, h->others[from + (first + i) % n]);
			struct actor_queue taken;
			unsigned actors;

			if (!atomic_load(&victim->waiting_actors))
				continue;
			taken = half_of(victim, &actors);
			if (actors)
				return move_in(h, &taken, actors);
		}
	}
	return NULL;
}

static struct actor *next(struct crew_hand *h)
{
	struct actor *a = own(h);

	return a ? a : steal(h);
}

static struct actor *again(struct crew_hand *h, struct actor *a)
{
	struct crew *c = h->crew;

	/* it is the only one, and at home where it runs */
	if (!atomic_load_explicit(&h->waiting_actors, memory_order_relaxed))
		return a;
	spin_lock_acquire(&h->lock);
	actor_queue_add(&h->queue, a);
	a = actor_queue_take(&h->queue);
	spin_lock_release(&h->lock);
	if (atomic_load_explicit(&c->sleepers, memory_order_relaxed))
		crew_wake_one(c);
	return a;
}

static void run(struct crew_hand *h)
{
	crew_loop(h, next, again);
}

const struct executor executor_best = { .schedule = schedule, .next = next, .run = run };
