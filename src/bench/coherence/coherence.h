/* SPDX-License-Identifier: Apache-2.0 */
/* Walks and streams between two threads, and the state of a trial of coherence. */
#ifndef LOCUS_COHERENCE_H
#define LOCUS_COHERENCE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/apart.h"
#include "kit/histogram.h"
#include "machine/threads/team.h"

/*
 * Walks through lines: each line holds the address of the next one, so that no access can begin
 * before the one before it has ended. Each kernel is a separate function, so that a test can read
 * its machine code.
 */
struct link {
	_Atomic(struct link *) next;
};

/* Lines in an order that prefetchers can't guess: two or more, one of each pair of neighbours. */
struct lines {
	char *base;
	size_t n, apart; /* apart: bytes from one to the next, in memory */
	uint64_t seed;
};

/* The line at which each walk begins. */
struct link *lines_first(const struct lines *);
/*
 * Links the lines to a walk, and returns the address where the walk ends: a word in the first line
 * that no walk visits; which word depends on the number, modulo seven. Forward and backward walks
 * alternate, too. So a walk that meets a line of an earlier laying ends elsewhere.
 */
struct link *lines_lay(const struct lines *, uint64_t number);
/* Removes all lines from all caches. Only where lines_can_flush(). */
void lines_flush(const struct lines *);
bool lines_can_flush(void);
/* Whether each line holds this address. */
bool lines_hold(const struct lines *, const struct link *);

/*
 * Follows n lines from `at`, and returns the contents of the last. A walk that stores leaves `mark`
 * in each line.
 */
typedef struct link *walk(struct link *at, uint64_t n, struct link *mark);
walk walk_load;	 /* dependent loads */
walk walk_store; /* atomic exchanges, since the next store can wait for an exchange */

/* As walk, but records the ticks from line to line in a histogram. */
typedef struct link *walk_noting(struct link *at, uint64_t n, struct link *mark,
				 struct histogram *);
walk_noting walk_load_noting, walk_store_noting;

/*
 * A stream from one thread to another, through a buffer of STREAM_PARTS parts: one thread writes a
 * part while the other reads those before it.
 */
enum { STREAM_PARTS = 8, STREAM_STEP = 64 };

/* Writes a word to all of a part; all its bytes are equal. */
typedef void stream_fill(char *part, size_t bytes, uint64_t word);
stream_fill stream_fill_baseline, stream_fill_avx2, stream_fill_avx512;
stream_fill stream_fill_widest; /* with the widest stores that the CPU has */
stream_fill stream_fill_memset; /* the C library's, which may use other instructions */

/* Zero except for `buffer` and `part`: nothing was sent. */
struct stream {
	stream_fill *fill;
	char *buffer; /* of STREAM_PARTS parts */
	size_t part;  /* bytes of one: a multiple of STREAM_STEP */
	bool wrong;   /* the reader found a word that was not written for it */
	/* parts since the start of a sample */
	_Alignas(APART) _Atomic uint64_t written;
	_Alignas(APART) _Atomic uint64_t taken;
};

/* To be called before each sample. */
void stream_restart(struct stream *);
/* Writes, or reads, so many parts, while the other thread calls the other function. */
void stream_write(struct stream *, uint64_t parts);
void stream_read(struct stream *, uint64_t parts);
/* The sum of all words of a part. */
uint64_t stream_sum(const char *part, size_t bytes);

/* The memory of a trial's pairs, and how their lines get into the requested state. */
/* States in the order of the parameter's choices. */
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
	bool stores;	   /* the walk leaves its mark in each line */
	stream_fill *fill; /* only for a stream, which has no walk */
};

/* A pair's lines in a round; in the next round another pair has them. */
struct block {
	struct lines lines;
	uint64_t laid;	  /* how often the lines were laid */
	struct link *end; /* where a walk must end */
	bool wrong;	  /* a walk ended elsewhere */
	struct stream stream;
	struct histogram single;		/* ticks a line */
	_Alignas(APART) unsigned worker[2];	/* its pair, by side; TEAM_IDLE: none */
	_Alignas(APART) _Atomic unsigned begun; /* the last round in which its owner began work() */
};

struct coherence {
	const struct access *access;
	enum state state;
	unsigned sharers, threads;
	unsigned blocks; /* as many as pairs meet at a time */
	unsigned round;	 /* rounds so far */
	unsigned spins;	 /* looks of a waiting thread until it yields */
	double tick;	 /* s */
	size_t line;	 /* bytes */
	struct team *team;
	struct block block[];
};

/* Each round gives a pair another block; else its lines would have the same homes in all rounds. */
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
