/* SPDX-License-Identifier: Apache-2.0 */
/*
 * openmp: each turn of an actor is an OpenMP task. The tasks run on OpenMP's own threads, in a
 * parallel region of theirs: OpenMP runs tasks at barriers of all threads of a region, and the
 * team's region has other threads, too.
 *
 * If many tasks wait, OpenMP runs a new task at once, inside the task that creates it. The inner
 * task then puts its actor into the thread's queue, where it waits until the outer task is done;
 * otherwise turns would nest without end.
 */
#include <omp.h>

#include "bench/actors/crew.h"
#include "base/relax.h"
#include "machine/threads/affinity.h"
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

/* A task: a turn of the actor, and then of the actors that inner tasks queued. */
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

/* Starts tasks for all waiting actors; these tasks start all further ones. */
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

/*
 * The crew's first thread opens OpenMP's region; the other threads of the crew have nothing to do.
 */
static void run(struct crew_hand *hand)
{
	struct crew *c = hand->crew;

	if (hand->me)
		return;
	omp_set_max_active_levels(2);
	shortage_begin(c->threads);
#pragma omp parallel num_threads(c->threads) default(none) shared(c)
	{
		struct crew_hand *h = here(c);
		struct usage before;

		if (c->seat)
			c->seat(c->argument, h->me);
		usage_read(&before);
#pragma omp barrier
#pragma omp master
		{
			shortage_end();
			seed(c);
		}
#pragma omp barrier
		count_switches(h, &before);
	}
}

static void stop(struct crew *c)
{
	(void)c; /* threads wait only at the region's barrier, which ends with the last task */
}

const struct executor executor_tasks = {
	.schedule = schedule, .next = next, .run = run, .stop = stop, .own_threads = true
};

const char *executor_no_tasks(void)
{
	return TSAN ? "ThreadSanitizer can't see how OpenMP orders tasks" : NULL;
}
