/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An actor and its mailbox. Any thread may put a message in; one thread at a time runs the actor.
 *
 * `inbox` is a stack of the messages that arrived, or NULL (the actor is idle), or &actor_awake
 * (the actor is awake, and all messages have been taken). The sender that wakes an idle actor must
 * schedule it. Until the actor is idle again, it belongs to the one thread that runs it, or to the
 * one queue in which it waits. Messages of the same sender are taken in the order in which they
 * were sent.
 */
#ifndef LOCUS_ACTOR_H
#define LOCUS_ACTOR_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Size of an actor and of a message: neighbours, which other threads may use, share no line, and
 * thousands of them do not fill the cache.
 */
#define ACTOR_LINE 64

/*
 * The sender owns a message's memory, and may not touch it until the message is handled. So sending
 * allocates nothing, and mailboxes hold at most as many messages as exist.
 */
struct message {
	_Alignas(ACTOR_LINE) struct message *next; /* in a mailbox */
	uint64_t sent;				   /* clock_ticks(); 0: it is not timed */
	uint64_t hops;				   /* how often it was handled; for the body */
	uint64_t index;				   /* for the body */
};

struct actor {
	_Alignas(ACTOR_LINE) struct message *_Atomic inbox;
	/* messages taken from the inbox, in order; only for the thread that runs the actor */
	struct message *first, *last;
	struct actor *next; /* in a queue of actors */
	void *state;	    /* for the body */
	uint64_t ran;	    /* messages handled */
	unsigned home;	    /* the home thread */
	unsigned on;	    /* the thread that ran it last */
};
_Static_assert(sizeof(struct actor) == ACTOR_LINE, "an actor is a line");

extern struct message actor_awake;

/* Sends a message to the actor itself, on the thread that runs it. */
static inline void actor_keep(struct actor *a, struct message *m)
{
	m->next = NULL;
	if (a->first)
		a->last->next = m;
	else
		a->first = m;
	a->last = m;
}

/* Sends a message, from any thread. True: the actor was idle, and the caller must schedule it. */
static inline bool actor_post(struct actor *a, struct message *m)
{
	struct message *top = atomic_load_explicit(&a->inbox, memory_order_relaxed);

	/*
	 * Release: the thread that takes the message sees its contents. Acquire: if the caller
	 * schedules the actor, it passes on what the thread that ran it last wrote.
	 */
	do
		m->next = top == &actor_awake ? NULL : top;
	while (!atomic_compare_exchange_weak_explicit(&a->inbox, &top, m, memory_order_acq_rel,
						      memory_order_relaxed));
	return !top;
}

/* Appends the messages that arrived to those that wait, the oldest first. */
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

/*
 * The next message of an awake actor, or NULL. Checks the inbox each time, so that an actor's
 * messages to itself do not starve messages from others.
 */
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

/*
 * Ends a turn. True: the actor has a message, and the caller must schedule it again; false: it is
 * idle.
 */
static inline bool actor_rest(struct actor *a)
{
	struct message *seen = &actor_awake;

	return a->first ||
	       !atomic_compare_exchange_strong_explicit(&a->inbox, &seen, NULL,
							memory_order_release, memory_order_relaxed);
}

/* A FIFO queue of actors, used by one thread or under a lock. */
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
