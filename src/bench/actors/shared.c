/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pool: one queue for all, under a mutex; a thread without work sleeps at once, on a condition
 * variable, as in common thread pools.
 */
#include "bench/actors/crew.h"

static void schedule(struct crew *c, struct crew_hand *h, struct actor *a)
{
	(void)h;
	pthread_mutex_lock(&c->mutex);
	actor_queue_add(&c->shared, a);
	pthread_mutex_unlock(&c->mutex);
	pthread_cond_signal(&c->filled);
}

static struct actor *wait_for_one(struct crew *c)
{
	while (!c->shared.first && !crew_stopped(c))
		pthread_cond_wait(&c->filled, &c->mutex);
	return crew_stopped(c) ? NULL : actor_queue_take(&c->shared);
}

static struct actor *next(struct crew_hand *h)
{
	struct crew *c = h->crew;
	struct actor *a;
	uint64_t began;

	pthread_mutex_lock(&c->mutex);
	a = actor_queue_take(&c->shared);
	if (!a) {
		began = clock_ticks();
		a = wait_for_one(c);
		h->idle += clock_ticks() - began;
	}
	pthread_mutex_unlock(&c->mutex);
	return a;
}

static struct actor *again(struct crew_hand *h, struct actor *a)
{
	schedule(h->crew, h, a);
	return next(h);
}

static void run(struct crew_hand *h)
{
	crew_loop(h, next, again);
}

static void stop(struct crew *c)
{
	/* under the mutex: no thread is between its check of `stopped` and its wait */
	pthread_mutex_lock(&c->mutex);
	pthread_cond_broadcast(&c->filled);
	pthread_mutex_unlock(&c->mutex);
}

const struct executor executor_pool = {
	.schedule = schedule, .next = next, .run = run, .stop = stop
};
