/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A crew: the threads that run actors. This is the part that all executors share. An actor handles
 * one message at a time; after a turn of at most a batch it is scheduled again, if it has more. A
 * source sends messages from outside.
 */
#ifndef LOCUS_ACTORS_CREW_H
#define LOCUS_ACTORS_CREW_H

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

/* How actors with messages get to threads: the one interface of all executors. */
struct executor {
	/*
	 * Schedules an actor that is awake: some thread will run it, once. `hand` is the caller's;
	 * NULL: the caller is outside the crew.
	 */
	void (*schedule)(struct crew *, struct crew_hand *hand, struct actor *);
	/* The next actor for this thread; NULL: none at the moment. */
	struct actor *(*next)(struct crew_hand *);
	void (*run)(struct crew_hand *); /* until the crew is stopped */
	void (*stop)(struct crew *);	 /* wakes all sleeping threads; NULL: crew_wake() does */
	/* needs a deque per thread; needs a biased lock per thread; brings its own threads */
	bool deque, biased, own_threads;
};

extern const struct executor executor_dedicated, executor_shuffled, executor_pool,
	executor_stealing, executor_best, executor_tasks;
/* Why there are no OpenMP tasks in this program; NULL: there are. */
const char *executor_no_tasks(void);

/* Where an actor's message ran, relative to where its previous one ran. */
enum crew_step { CREW_SAME_THREAD, CREW_SAME_CACHE, CREW_SAME_NODE, CREW_ELSEWHERE, CREW_STEPS };

/* The data of a thread. The first part is its own; all threads may write to the others. */
struct crew_hand {
	_Alignas(APART) struct crew *crew;
	unsigned me;
	struct actor *current;	  /* the actor that it runs; NULL: none */
	struct actor_queue ready; /* actors that only this thread runs */
	bool nested;		  /* openmp: it is inside a task */
	/* state of its random stream; messages to send before one is timed */
	uint64_t random, until;
	struct histogram *waiting; /* ticks of the timed ones, from sending to handling */
	const unsigned *others;	   /* all other threads, the nearest first */
	unsigned near[CREW_STEPS]; /* how many of `others` are this near or nearer */
	/* counts since crew_start(); `moves`: actors that steals moved here */
	uint64_t ran, steals, moves, step[CREW_STEPS];
	uint64_t idle, began, ended; /* in ticks */
	/*
	 * only for executors with threads of their own, which the team does not see: context
	 * switches, and whether the thread ended on another CPU
	 */
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
	/*
	 * pins the calling thread, for executors with threads of their own; NULL: they run anywhere
	 */
	void (*seat)(void *argument, unsigned thread);
	unsigned batch; /* messages of an actor in a row, at most */
	uint64_t every; /* one in so many messages is timed; 0: none */
	bool newest;	/* true: last in, first out */
	unsigned spins; /* how often a thread looks for work before it sleeps */
	/* enum crew_step from thread i to j: step[i * threads + j]; NULL: not known */
	const unsigned char *step;
	char *memory; /* a piece of `stride` bytes a thread, crew_hand() first */
	size_t stride;
	_Alignas(APART) _Atomic bool stopped;
	_Atomic unsigned sleepers;
	/* only for the variant pool */
	_Alignas(APART) pthread_mutex_t mutex;
	pthread_cond_t filled;
	struct actor_queue shared;
};

/* Bytes of memory that a crew needs for each of its `threads` threads. */
size_t crew_bytes(const struct executor *, unsigned threads, size_t actors);

/*
 * Opens a crew in zeroed memory, crew_bytes() for each thread. The caller has set the fields above
 * `memory`. `random`: a seed.
 */
void crew_open(struct crew *, void *memory, uint64_t random);
void crew_close(struct crew *);

static inline struct crew_hand *crew_hand(const struct crew *c, unsigned thread)
{
	return (struct crew_hand *)(void *)(c->memory + thread * c->stride);
}

/* To be called before the threads run: clears `stopped` and all counts. */
void crew_start(struct crew *);

/* For each thread: runs actors until the crew is stopped. */
void crew_run(struct crew *, unsigned thread);

/*
 * From any thread: makes all threads return after the message that each is handling. Waiting
 * messages stay, and are handled in the next run.
 */
void crew_stop(struct crew *);

static inline bool crew_stopped(const struct crew *c)
{
	return atomic_load_explicit(&c->stopped, memory_order_relaxed);
}

/* Sends a message from the body, on the thread that runs it. */
void crew_send(struct crew_hand *, struct message *, struct actor *to);
/*
 * Sends a message from outside the crew, or before it runs. `due`: the tick from which its waiting
 * counts; 0: it is not timed.
 */
void crew_send_in(struct crew *, struct message *, struct actor *to, uint64_t due);
/*
 * Sends a message as if from the crew's thread `thread`, which is not running yet; it is not timed.
 */
void crew_seed(struct crew *, unsigned thread, struct message *, struct actor *to);

/* A uniformly distributed number below n. */
static inline unsigned crew_draw(struct crew_hand *h, unsigned n)
{
	h->random = h->random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (unsigned)((h->random >> 32) * n >> 32);
}

/* ---- for executors ---- */

/* Puts an actor into a thread's inbox, and wakes the thread; false: it was not asleep. */
bool crew_deliver(struct crew *, unsigned thread, struct actor *);
/* Moves all actors from a thread's inbox to the end of a queue, in order; returns how many. */
unsigned crew_empty_inbox(struct crew_hand *of, struct actor_queue *to);
/* Wakes a thread; false: it was not asleep. */
bool crew_wake(struct crew *, unsigned thread);
/* Wakes one sleeping thread, if there is one. */
void crew_wake_one(struct crew *);
/* Looks for an actor, and after a while sleeps until one comes; NULL: the crew was stopped. */
struct actor *crew_idle(struct crew_hand *);
/* Counts that an actor moved to this thread, by the distance from the thread that ran it last. */
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

/*
 * Messages from outside the crew, at a given rate. Each is due at a time that does not depend on
 * how long earlier ones take, and its waiting counts from then. So it includes the time in which
 * the message could not be sent, because all were under way or the sender had no CPU: to leave that
 * out would be coordinated omission.
 */
struct source {
	struct message *free;				     /* only for the sender */
	double ticks;					     /* from a message to the next */
	_Alignas(APART) struct message *_Atomic handed_back; /* a stack */
};

/* `rate`: messages a second; `tick`: clock_tick(). */
void source_open(struct source *, double rate, double tick);

/* Returns a handled message to the sender; from any thread. */
static inline void source_hand_back(struct source *s, struct message *m)
{
	m->next = atomic_load_explicit(&s->handed_back, memory_order_relaxed);
	while (!atomic_compare_exchange_weak_explicit(&s->handed_back, &m->next, m,
						      memory_order_release, memory_order_relaxed))
		;
}

/*
 * Sends n messages, or fewer if the crew is stopped; one in crew.every is timed. `to` returns the
 * actor that gets message i.
 */
void source_send(struct source *, struct crew *, uint64_t n,
		 struct actor *(*to)(void *, const struct message *, uint64_t i), void *argument);

#endif
