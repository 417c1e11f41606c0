/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An actor and its mailbox: any thread may put a message in; one at a time runs the actor.
 *
 * `inbox` is a stack of what arrived, or says that the actor is idle (NULL), or that it is awake
 * and has seen all (&actor_awake). Who makes an idle actor awake has to schedule it; until it is
 * idle again it belongs to the one thread that runs it, or to the one queue that it waits in. Of
 * one sender, messages are taken in the order in which they were sent.
 */
#ifndef LOCUS_ACTOR_H
#define LOCUS_ACTOR_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Its memory is the sender's, who may not touch it before it is handled: so to send takes no
 * memory, and mailboxes hold at most the messages that there are.
 */
struct message {
	struct message *next; /* in a mailbox */
	uint64_t sent;	      /* clock_ticks(); 0: it is not timed */
	uint64_t hops;	      /* the body's: how often it was handled */
	uint64_t index;	      /* the body's */
};

/* One line, so that neighbours do not share it; thousands of them are not to fill the cache. */
#define ACTOR_LINE 64
struct actor {
	_Alignas(ACTOR_LINE) struct message *_Atomic inbox;
	/* taken from the inbox, in order; of the thread that runs it */
	struct message *first, *last;
	struct actor *next; /* in a queue of actors */
	void *state;	    /* the body's */
	uint64_t ran;	    /* messages */
	unsigned home;	    /* the thread that it belongs to */
	unsigned on;	    /* the thread that ran it last */
};
_Static_assert(sizeof(struct actor) == ACTOR_LINE, "an actor is a line");

extern struct message actor_awake;

/* Of the actor that this thread runs: a message to itself. */
static inline void actor_keep(struct actor *a, struct message *m)
{
	m->next = NULL;
	if (a->first)
		a->last->next = m;
	else
		a->first = m;
	a->last = m;
}

/* From any thread. True: it was idle, and the caller has to schedule it. */
static inline bool actor_post(struct actor *a, struct message *m)
{
	struct message *top = atomic_load_explicit(&a->inbox, memory_order_relaxed);

	/*
	 * Release: whoever takes the message sees it. Acquire: who schedules it hands on what the
	 * last thread to run it wrote.
	 */
	do
		m->next = top == &actor_awake ? NULL : top;
	while (!atomic_compare_exchange_weak_explicit(&a->inbox, &top, m, memory_order_acq_rel,
						      memory_order_relaxed));
	return !top;
}

/* What arrived goes behind what waits, the oldest first. */
static inline void actor_collect(struct actor *a)
{
	struct message *top = atomic_exchange_explicit(&a->inbox, &actor_awake,
						       memory_order_acquire),
		       *last = top, *list = NULL;

	while (top) {
		struct message *below = top->next;

		top->next = list;
		list = top;
		top = below;
	}
	if (a->first)
		a->last->next = list;
	else
		a->first = list;
	a->last = last;
}

/* Of an awake actor; NULL: it has none. What arrives is looked at each time: nobody starves. */
static inline struct message *actor_take(struct actor *a)
{
	struct message *m;

	if (atomic_load_explicit(&a->inbox, memory_order_relaxed) != &actor_awake)
		actor_collect(a);
	m = a->first;
	if (m)
		a->first = m->next;
	return m;
}

/* True: it has a message, and the caller has to schedule it again; false: it is idle. */
static inline bool actor_rest(struct actor *a)
{
	struct message *seen = &actor_awake;

	return a->first ||
	       !atomic_compare_exchange_strong_explicit(&a->inbox, &seen, NULL,
							memory_order_release, memory_order_relaxed);
}

/* Actors in order: of one thread, or under a lock. */
struct actor_queue {
	struct actor *first, *last;
};

static inline void actor_queue_add(struct actor_queue *q, struct actor *a)
{
	a->next = NULL;
	if (q->first)
		q->last->next = a;
	else
		q->first = a;
	q->last = a;
}

static inline struct actor *actor_queue_take(struct actor_queue *q)
{
	struct actor *a = q->first;

	if (a)
		q->first = a->next;
	return a;
}

#endif
