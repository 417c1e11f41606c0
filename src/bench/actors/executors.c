/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The published executors: dedicated, pool and stealing; and shuffled, which has the queues of
 * dedicated and the locality of pool.
 */
#include "bench/actors/crew.h"

/*
 * Each thread has a mailbox. Any thread may put an actor into it; its owner takes all of them at
 * once. Actors that a thread schedules for itself wait in a queue of its own, without atomic
 * operations.
 *
 * dedicated: an actor is run by the thread that it belongs to. shuffled: by a random thread each
 * time.
 */
static struct actor *mailbox_next(struct crew_hand *h)
{
	crew_empty_inbox(h, &h->ready);
	return actor_queue_take(&h->ready);
}

static inline void mail(struct crew *c, struct crew_hand *h, unsigned thread, struct actor *a)
{
	if (h && thread == h->me)
		actor_queue_add(&h->ready, a);
	else
		crew_deliver(c, thread, a);
}

static void schedule_home(struct crew *c, struct crew_hand *h, struct actor *a)
{
	mail(c, h, a->home, a);
}

/* The actor belongs to this thread, so it is queued here. */
static struct actor *again_here(struct crew_hand *h, struct actor *a)
{
	actor_queue_add(&h->ready, a);
	return mailbox_next(h);
}

static void run_dedicated(struct crew_hand *h)
{
	crew_loop(h, mailbox_next, again_here);
}

static void schedule_anywhere(struct crew *c, struct crew_hand *h, struct actor *a)
{
	mail(c, h, h ? crew_draw(h, c->threads) : a->home, a);
}

static struct actor *again_anywhere(struct crew_hand *h, struct actor *a)
{
	schedule_anywhere(h->crew, h, a);
	return mailbox_next(h);
}

static void run_shuffled(struct crew_hand *h)
{
	crew_loop(h, mailbox_next, again_anywhere);
}

const struct executor executor_dedicated = { .schedule = schedule_home,
					     .next = mailbox_next,
					     .run = run_dedicated },
		      executor_shuffled = { .schedule = schedule_anywhere,
					    .next = mailbox_next,
					    .run = run_shuffled };

/*
 * pool: one queue for all, under a mutex; a thread without work sleeps at once, on a condition
 * variable, as in common thread pools.
 */
static void pool_schedule(struct crew *c, struct crew_hand *h, struct actor *a)
{
	(void)h;
	pthread_mutex_lock(&c->mutex);
	actor_queue_add(&c->shared, a);
	pthread_mutex_unlock(&c->mutex);
	pthread_cond_signal(&c->filled);
}

static struct actor *pool_wait(struct crew *c)
{
	while (!c->shared.first && !crew_stopped(c))
		pthread_cond_wait(&c->filled, &c->mutex);
	return crew_stopped(c) ? NULL : actor_queue_take(&c->shared);
}

static struct actor *pool_next(struct crew_hand *h)
{
	struct crew *c = h->crew;
	struct actor *a;
	uint64_t began;

	pthread_mutex_lock(&c->mutex);
	a = actor_queue_take(&c->shared);
	if (!a) {
		began = clock_ticks();
		a = pool_wait(c);
		h->idle += clock_ticks() - began;
	}
	pthread_mutex_unlock(&c->mutex);
	return a;
}

static struct actor *pool_again(struct crew_hand *h, struct actor *a)
{
	pool_schedule(h->crew, h, a);
	return pool_next(h);
}

static void pool_run(struct crew_hand *h)
{
	crew_loop(h, pool_next, pool_again);
}

static void pool_stop(struct crew *c)
{
	/* under the mutex: no thread is between its check of `stopped` and its wait */
	pthread_mutex_lock(&c->mutex);
	pthread_cond_broadcast(&c->filled);
	pthread_mutex_unlock(&c->mutex);
}

const struct executor executor_pool = {
	.schedule = pool_schedule, .next = pool_next, .run = pool_run, .stop = pool_stop
};

/*
 * stealing: a deque per thread. A thread without actors takes the oldest one of another thread,
 * chosen at random.
 */
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
	/* wake a sleeper, so that the other actors need not wait for the first */
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

static struct actor *stealing_next(struct crew_hand *h)
{
	/* the inbox comes first, so that its actors do not wait until the deque is empty */
	struct actor *a = from_inbox(h, h);

	if (!a)
		a = own(h);
	return a ? a : steal(h);
}

static void stealing_schedule(struct crew *c, struct crew_hand *h, struct actor *a)
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
static struct actor *stealing_again(struct crew_hand *h, struct actor *a)
{
	struct crew *c = h->crew;

	deque_add(&h->deque, a, memory_order_release);
	if (atomic_load_explicit(&c->sleepers, memory_order_relaxed) && deque_length(&h->deque) > 1)
		crew_wake_one(c);
	return stealing_next(h);
}

static void stealing_run(struct crew_hand *h)
{
	crew_loop(h, stealing_next, stealing_again);
}

const struct executor executor_stealing = {
	.schedule = stealing_schedule, .next = stealing_next, .run = stealing_run, .deque = true
};
