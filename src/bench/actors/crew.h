/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Threads that run actors, whichever way: the part that all executors share. One message of an
 * actor is handled at a time; when it is done, the actor's next one is scheduled.
 */
#ifndef LOCUS_CREW_H
#define LOCUS_CREW_H

#include <pthread.h>

#include "base/apart.h"
#include "bench/actors/actor.h"
#include "bench/actors/biased.h"
#include "bench/actors/deque.h"
#include "kit/histogram.h"
#include "kit/park.h"
#include "machine/clock.h"

struct crew;
struct crew_hand;

/* How actors that have messages come to threads: the one interface of all executors. */
struct executor {
	/*
	 * An actor that has become awake: it is run once, by some thread. `hand` is that of the
	 * caller; NULL: a thread outside of the crew.
	 */
	void (*schedule)(struct crew *, struct crew_hand *hand, struct actor *);
	/* An actor for this thread; NULL: there is none at the moment. */
	struct actor *(*next)(struct crew_hand *);
	void (*run)(struct crew_hand *); /* until the crew is stopped */
	void (*stop)(struct crew *);	 /* wakes all that sleep; NULL: crew_wake() does */
	/* has a deque a thread; a queue a thread under a biased lock; threads of its own */
	bool deque, biased, own_threads;
};

extern const struct executor executor_dedicated, executor_shuffled, executor_pool,
	executor_stealing, executor_best, executor_tasks;
/* Why there are no OpenMP tasks in this program; NULL: there are. */
const char *executor_no_tasks(void);

/* Where an actor's message ran, seen from where its last one did. */
enum crew_step { CREW_SAME_THREAD, CREW_SAME_CACHE, CREW_SAME_NODE, CREW_ELSEWHERE, CREW_STEPS };

/* What a thread needs. The first part is its own, the others may be written by all. */
struct crew_hand {
	_Alignas(APART) struct crew *crew;
	unsigned me;
	struct actor *current;	   /* that it runs */
	struct actor_queue ready;  /* actors that only this thread runs */
	bool nested;		   /* it is in a task */
	uint64_t random, until;	   /* messages that it sends before it times one */
	struct histogram *waiting; /* ticks of the timed ones, from sending to handling */
	const unsigned *others;	   /* all other threads, the nearest first */
	unsigned near[CREW_STEPS]; /* how many of them, up to this step */
	/* since crew_start(); `moves`: actors that steals took along */
	uint64_t ran, steals, moves, step[CREW_STEPS];
	uint64_t idle, began, ended; /* in ticks */
	/* context switches, and whether it ends on another CPU, where the team does not see it */
	uint64_t voluntary, involuntary;
	bool migrated;

	_Alignas(APART) struct actor *_Atomic inbox; /* a stack of actors to be scheduled here */
	_Alignas(APART) _Atomic bool asleep;
	struct parking parking;
	struct deque deque;
	/* a queue that others may take from, and how many are in it */
	_Alignas(APART) struct biased_lock lock;
	struct actor_queue queue;
	_Alignas(APART) _Atomic unsigned waiting_actors;
};

struct crew {
	const struct executor *executor;
	unsigned threads;
	size_t actors;
	/* Handles a message, and then sends it on or keeps it. */
	void (*body)(void *argument, struct crew_hand *, struct actor *, struct message *);
	void *argument;
	/* where a thread of its own is to run, for executors that make theirs; NULL: anywhere */
	void (*seat)(void *argument, unsigned thread);
	unsigned batch; /* messages of an actor in a row, at most */
	uint64_t every; /* one in so many messages is timed; 0: none */
	bool newest;	/* a thread takes what it scheduled last; false: first */
	unsigned spins; /* looks for work before a thread sleeps */
	/* enum crew_step from thread i to j: step[i * threads + j]; NULL: not known */
	const unsigned char *step;
	char *memory; /* a piece of `stride` bytes a thread, crew_hand() first */
	size_t stride;
	_Alignas(APART) _Atomic bool stopped;
	_Atomic unsigned sleepers;
	/* pool's */
	_Alignas(APART) pthread_mutex_t mutex;
	pthread_cond_t filled;
	struct actor_queue shared;
};

/* The bytes of memory that a crew of so many threads needs for each of them. */
size_t crew_bytes(const struct executor *, unsigned threads, size_t actors);

/*
 * Opens it in `memory`, zeroed, of crew_bytes() for each thread. The fields above `memory` are the
 * caller's; `random`: a seed.
 */
void crew_open(struct crew *, void *memory, uint64_t random);
void crew_close(struct crew *);

static inline struct crew_hand *crew_hand(const struct crew *c, unsigned thread)
{
	return (struct crew_hand *)(void *)(c->memory + thread * c->stride);
}

/* Before threads run: it is not stopped, and has counted nothing. */
void crew_start(struct crew *);

/* Each thread's: runs actors until the crew is stopped. */
void crew_run(struct crew *, unsigned thread);

/*
 * From any thread: threads return after the message that they handle. What waits stays, and is
 * handled when they run again.
 */
void crew_stop(struct crew *);

static inline bool crew_stopped(const struct crew *c)
{
	return atomic_load_explicit(&c->stopped, memory_order_relaxed);
}

/* Of a thread that runs, by its body. */
void crew_send(struct crew_hand *, struct message *, struct actor *to);
/* From outside of the crew, or before it runs. `due`: ticks, from when it waits; 0: not timed. */
void crew_send_in(struct crew *, struct message *, struct actor *to, uint64_t due);
/* The same, by thread `thread` of those that will run it, who is not at work. */
void crew_seed(struct crew *, unsigned thread, struct message *, struct actor *to);

/* An even number below n. */
static inline unsigned crew_draw(struct crew_hand *h, unsigned n)
{
	h->random = h->random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (unsigned)((h->random >> 32) * n >> 32);
}

/* For executors. */

/* Puts an actor into a thread's inbox, and wakes it; false: it did not sleep. */
bool crew_deliver(struct crew *, unsigned thread, struct actor *);
/* Moves the inbox of one thread to the end of the queue, in order; returns how many they were. */
unsigned crew_empty_inbox(struct crew_hand *of, struct actor_queue *to);
/* If it sleeps. */
bool crew_wake(struct crew *, unsigned thread);
/* Any thread that sleeps, if there is one. */
void crew_wake_one(struct crew *);
/* Looks for an actor, and after some time sleeps until one comes; NULL: stopped. */
struct actor *crew_idle(struct crew_hand *);
/* Counts where the actor comes from. */
void crew_moved(struct crew_hand *, struct actor *);

static inline void crew_note_wait(struct crew_hand *h, const struct message *m)
{
	const uint64_t now = clock_ticks();

	histogram_add(h->waiting, now > m->sent ? (double)(now - m->sent) : 0);
}

/* Handles messages of an actor, at most a batch; true: it has more. */
static inline bool crew_turn(struct crew_hand *h, struct actor *a)
{
	const struct crew *c = h->crew;
	struct message *m;

	if (a->on != h->me)
		crew_moved(h, a);
	h->current = a;
	for (unsigned n = 0; n < c->batch && (m = actor_take(a)); n++) {
		if (__builtin_expect(m->sent != 0, 0))
			crew_note_wait(h, m);
		a->ran++;
		h->ran++;
		c->body(c->argument, h, a, m);
		if (crew_stopped(c))
			break;
	}
	h->current = NULL;
	return actor_rest(a);
}

/*
 * The loop of a thread. `next` as in struct executor; again() takes an actor that has more
 * messages, and returns the one to run now, or NULL.
 */
static inline __attribute__((always_inline)) void
crew_loop(struct crew_hand *h, struct actor *(*next)(struct crew_hand *),
	  struct actor *(*again)(struct crew_hand *, struct actor *))
{
	struct crew *c = h->crew;
	struct actor *a = NULL;

	while (!crew_stopped(c)) {
		if (!a)
			a = next(h);
		if (!a)
			a = crew_idle(h);
		if (!a)
			return;
		a = crew_turn(h, a) ? again(h, a) : NULL;
	}
	if (a)
		c->executor->schedule(c, h, a);
}

#endif
