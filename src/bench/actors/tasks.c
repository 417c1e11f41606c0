/* SPDX-License-Identifier: Apache-2.0 */
/*
 * openmp: each turn of an actor is an OpenMP task, of threads of OpenMP's own in a region of
 * theirs: OpenMP runs tasks at barriers of all threads of a region, and that of the team has
 * others, too.
 *
 * Where many tasks wait, OpenMP runs a new one at once, inside of the one that makes it. That one's
 * actor then waits in the queue of the thread until the outer one is done; else turns would nest
 * without end.
 */
#include <omp.h>

#include "bench/actors/crew.h"
#include "base/tsan.h"
#include "machine/usage.h"

static struct crew_hand *here(struct crew *c)
{
	return crew_hand(c, (unsigned)omp_get_thread_num());
}

static void turn_of(struct crew *c, struct actor *a);

static void start_task(struct crew *c, struct actor *a)
{
#pragma omp task default(none) firstprivate(c, a)
	turn_of(c, a);
}

/* A task: a turn of the actor, and then of those that could not wait. */
static void turn_of(struct crew *c, struct actor *a)
{
	struct crew_hand *h = here(c);

	if (h->nested) {
		actor_queue_add(&h->ready, a);
		return;
	}
	h->nested = true;
	while (a) {
		if (crew_stopped(c))
			crew_deliver(c, 0, a); /* for the next run */
		else if (crew_turn(h, a))
			start_task(c, a);
		a = actor_queue_take(&h->ready);
	}
	h->nested = false;
}

static void schedule(struct crew *c, struct crew_hand *h, struct actor *a)
{
	if (h && h->nested)
		start_task(c, a);
	else
		crew_deliver(c, 0, a);
}

static struct actor *next(struct crew_hand *h)
{
	return actor_queue_take(&h->ready);
}

/* Tasks for all actors that wait; they keep the others busy when this is done. */
static void seed(struct crew *c)
{
	struct actor_queue waiting = { NULL, NULL };
	struct actor *a;

	crew_empty_inbox(crew_hand(c, 0), &waiting);
	while ((a = actor_queue_take(&waiting)))
		start_task(c, a);
}

static void count_switches(struct crew_hand *h, const struct usage *before)
{
	struct usage after;

	usage_read(&after);
	h->voluntary = after.voluntary - before->voluntary;
	h->involuntary = after.involuntary - before->involuntary;
	h->migrated = after.on_cpu != before->on_cpu;
}

/* The first thread runs all of it, and the others of the crew have nothing to do. */
static void run(struct crew_hand *hand)
{
	struct crew *c = hand->crew;

	if (hand->me)
		return;
	omp_set_max_active_levels(2);
#pragma omp parallel num_threads(c->threads) default(none) shared(c)
	{
		struct crew_hand *h = here(c);
		struct usage before;

		if (c->seat)
			c->seat(c->argument, h->me);
		usage_read(&before);
#pragma omp barrier
#pragma omp master
		seed(c);
#pragma omp barrier
		count_switches(h, &before);
	}
}

static void stop(struct crew *c)
{
	(void)c; /* nobody sleeps without a task that ends */
}

const struct executor executor_tasks = {
	.schedule = schedule, .next = next, .run = run, .stop = stop, .own_threads = true
};

const char *executor_no_tasks(void)
{
	return TSAN ? "ThreadSanitizer can't see how OpenMP orders tasks" : NULL;
}
