/* SPDX-License-Identifier: Apache-2.0 */
/* What the pairs of a trial have, and how their lines get into the state that is asked for. */
#ifndef LOCUS_COHERENCE_STATES_H
#define LOCUS_COHERENCE_STATES_H

#include "bench/coherence/stream.h"
#include "bench/coherence/walks.h"
#include "machine/threads/team.h"

/* In the order of the parameter's choices. */
enum state {
	STATE_MODIFIED,
	STATE_EXCLUSIVE,
	STATE_BOTH,
	STATE_MEMORY,
};

/* The role of a worker in its pair. */
enum side { SIDE_OWNER, SIDE_TAKER };

/* How lines are taken. */
struct access {
	walk *walk;
	walk_noting *noting;
	bool stores; /* and leaves its mark in each line */
	stream_fill *fill; /* of a stream; the others are NULL then */
};

/* What a pair has in a round; in the next one another pair has it. */
struct block {
	struct lines lines;
	uint64_t laid;	  /* how often */
	struct link *end; /* of a walk */
	bool wrong;	  /* a walk ended elsewhere */
	struct stream stream;
	struct histogram single;	     /* ticks a line */
	_Alignas(APART) unsigned worker[2];  /* by side; TEAM_IDLE: no pair has it */
	_Alignas(APART) _Atomic unsigned begun; /* the last round in which its owner began work() */
};

struct coherence {
	const struct access *access;
	enum state state;
	unsigned sharers, threads;
	unsigned blocks;    /* as many as pairs meet at a time */
	unsigned round;	    /* rounds so far */
	unsigned spins;	    /* looks of a waiting thread until it yields */
	double tick;	    /* s */
	size_t line;	    /* bytes */
	struct team *team;
	struct block block[];
};

/* In each round a pair has another block: else it would have the same lines' homes in all. */
static inline struct block *coherence_block(struct coherence *c, unsigned pair)
{
	return &c->block[(pair + c->round) % c->blocks];
}

/*
 * Whether a worker is one of the further threads that load this block's lines: the next ones after
 * its owner, in the order of the workers.
 */
bool coherence_shares(const struct coherence *, const struct block *, unsigned worker);

/*
 * Begins a round of the pairs that are seated: the takers walk over the lines once, and note the
 * time of each. Then the lines are in the state again.
 */
void coherence_begin(struct coherence *);

#endif
