/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the parts of the benchmark: parameters, values derived from them, and the state. */
#ifndef LOCUS_ACTORS_H
#define LOCUS_ACTORS_H

#include "bench/actors/crew.h"
#include "benchmark.h"

/* Indices of the parameters, and their choices. */
enum {
	ACTORS,
	STATE,
	WORDS,
	BODY,
	ENTRIES,
	ACTIVE,
	IN_FLIGHT,
	TO,
	BATCH,
	ORDER,
	HOME,
	MESSAGES,
	EVERY,
	RATE,
};
enum { BODY_WALK, BODY_REAL };
#define BODY_CHOICES "walk,real"
enum { TO_SELF, TO_RANDOM };
#define TO_CHOICES "self,random"
enum { ORDER_OLDEST, ORDER_NEWEST };
#define ORDER_CHOICES "oldest,newest"
enum { HOME_OWN, HOME_FIRST, HOME_INTERLEAVE };
#define HOME_CHOICES "own,first,interleave"

/* Threads that run actors: all of the trial's, except the one that sends if there is a rate. */
unsigned actors_threads(const struct trial *);
uint64_t actors_active(const struct trial *);	/* actors that get messages */
uint64_t actors_messages(const struct trial *); /* messages under way at any time */
size_t actors_stride(const struct trial *);	/* bytes from one actor's state to the next */
size_t actors_words(const struct trial *);	/* words of 4 bytes in a state */
uint64_t actors_touched(const struct trial *);	/* words that a message touches */
const char *actors_resolve(const struct trial *, union value *, uint64_t given);
struct needs actors_needs(const struct trial *);

/*
 * The state of a trial of actors: the actors, their states and messages, and the threads that run
 * them.
 */
enum { ACTORS_SENTENCE = 160 };

struct state {
	struct crew crew;
	struct actor *actor;
	struct message *message; /* all that are under way */
	uint32_t *active;	 /* actors that get messages */
	uint64_t actors, actives, messages;
	uint64_t in_flight; /* messages of an active actor */
	char *states;
	size_t stride, words; /* bytes from one actor's state to the next; words of 4 bytes in it */
	uint64_t touched;     /* words that a message touches */
	uint64_t entries;     /* of an actor's map; 0: walk */
	bool random;	      /* messages go to a random actor; false: to the same */
	uint64_t seed;
	double tick; /* s */
	double rate; /* messages per second, sent by an extra thread; 0: none */
	struct source source;
	/* each message is handled `hops` times in this sample, and the first `rest` once more */
	uint64_t hops, rest;
	_Alignas(APART) _Atomic uint64_t left;	   /* messages that are not done */
	_Atomic(const char *) failed;		   /* why the sample failed; NULL: it did not */
	_Alignas(APART) const struct place *place; /* by thread */
	struct team *team;
	unsigned threads;	   /* that handle messages */
	bool floating, exact;	   /* exact: --messages says how many */
	unsigned char *step;	   /* see struct crew */
	struct histogram *waiting; /* one for each thread, then one for all */
	char sentence[ACTORS_SENTENCE];
};

/* A contiguous share of the actors belongs to each thread. See struct ops. */
void *actors_prepare(const struct trial *);
void actors_enter(void *, struct worker *);
void actors_reset(void *);
void actors_work(void *, struct worker *);
const char *actors_verify(void *, const struct trial *);
void actors_release(void *);
void actors_collect(void *, const struct trial *, struct result *);

enum { ACTORS_METRICS = 15 };
extern const struct metric actors_metrics[ACTORS_METRICS];

#endif
