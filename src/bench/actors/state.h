/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The state of a trial of actors: the actors, their states and messages, and the threads that run
 * them.
 */
#ifndef LOCUS_ACTORS_STATE_H
#define LOCUS_ACTORS_STATE_H

#include "bench/actors/crew.h"
#include "bench/actors/source.h"
#include "benchmark.h"

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
	double rate; /* messages a second, by a thread beside those of the crew; 0: none */
	struct source source;
	/* in this sample: each message is handled `hops` times, and the first `rest` once more */
	uint64_t hops, rest;
	_Alignas(APART) _Atomic uint64_t left;	   /* messages that are not done */
	_Atomic(const char *) failed;		   /* why the sample failed; NULL: it did not */
	_Alignas(APART) const struct place *place; /* by thread */
	struct team *team;
	unsigned threads;	   /* that handle messages */
	bool floating, exact;	   /* exact: --messages says how many */
	unsigned char *step;	   /* see struct crew */
	struct histogram *waiting; /* by thread, then of all */
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
