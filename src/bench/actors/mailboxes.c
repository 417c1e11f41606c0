/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Each thread has a mailbox. Any thread may put an actor into it; its owner takes all of them at
 * once. Actors that a thread schedules for itself wait in a queue of its own, without atomic
 * operations.
 *
 * dedicated: an actor is run by the thread that it belongs to. shuffled: by a random thread each
 * time.
 */
#include "bench/actors/crew.h"

static struct actor *next(struct crew_hand *h)
{
	crew_empty_inbox(h, &h->ready);
	return actor_queue_take(&h->ready);
}

static inline void put(struct crew *c, struct crew_hand *h, unsigned thread, struct actor *a)
{
	if (h && thread == h->me)
		actor_queue_add(&h->ready, a);
	else
		crew_deliver(c, thread, a);
}

/* lesson moving */
static void schedule_home(struct crew *c, struct crew_hand *h, struct actor *a)
{
	put(c, h, a->home, a);
}
/* lesson ends */

/* The actor belongs to this thread, so it is queued here. */
static struct actor *again_here(struct crew_hand *h, struct actor *a)
{
	actor_queue_add(&h->ready, a);
	return next(h);
}

static void run_dedicated(struct crew_hand *h)
{
	crew_loop(h, next, again_here);
}

/* lesson moving */
static void schedule_anywhere(struct crew *c, struct crew_hand *h, struct actor *a)
{
	put(c, h, h ? crew_draw(h, c->threads) : a->home, a);
}
/* lesson ends */

static struct actor *again_anywhere(struct crew_hand *h, struct actor *a)
{
	schedule_anywhere(h->crew, h, a);
	return next(h);
}

static void run_shuffled(struct crew_hand *h)
{
	crew_loop(h, next, again_anywhere);
}

const struct executor executor_dedicated = { .schedule = schedule_home,
					     .next = next,
					     .run = run_dedicated },
		      executor_shuffled = { .schedule = schedule_anywhere,
					    .next = next,
					    .run = run_shuffled };
