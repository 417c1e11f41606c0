/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Barriers, and a loop over each of them. Threads wait by reading a line of their own node, with
 * pauses, and yield after a bound; the C library's and OpenMP's barriers wait in their own way.
 */
#ifndef LOCUS_BARRIERS_KINDS_H
#define LOCUS_BARRIERS_KINDS_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/apart.h"

enum {
	KINDS_ROUNDS = 12, /* of dissemination */
	KINDS_MOST_THREADS = 1 << KINDS_ROUNDS,
	KINDS_CHILDREN = 4, /* from which a thread of the tree gathers arrivals */
};

/*
 * The words that other threads write and one thread reads. Barriers are counted from 1, and a word
 * holds the number of the barrier for which it was last written, so nothing has to be reset.
 */
struct post {
	_Alignas(APART) _Atomic uint64_t arrivals; /* central: of all threads since the start */
	_Alignas(APART) _Atomic uint64_t leave;
	/* on one line, like the four bytes of one word in the publication */
	_Alignas(APART) _Atomic uint64_t child[KINDS_CHILDREN];
	struct {
		_Alignas(APART) _Atomic uint64_t arrived;
	} round[KINDS_ROUNDS];
};

struct barrier {
	unsigned threads;
	unsigned spins;	      /* looks of a waiting thread before it yields */
	unsigned char *posts; /* a page for each thread, on its node */
	size_t page;
	pthread_barrier_t library;
};

/* Each KINDS_EVERY-th barrier's leaving is timed; a thread remembers KINDS_KEPT of these times. */
enum { KINDS_EVERY = 64, KINDS_KEPT = 1024 };

/* A thread's own data. */
struct visitor {
	_Alignas(APART) unsigned index;
	uint64_t passed;	  /* barriers since the start */
	_Atomic uint64_t reached; /* for check(): the barrier at which it has arrived */
	bool early;		  /* check() saw that it left before another had arrived */
	unsigned kept;		  /* entries of `left` in this sample */
	/* ticks at which it left */
	uint64_t left[KINDS_KEPT];
};

struct kind {
	/* passes n barriers */
	void (*pass)(struct barrier *, struct visitor *, uint64_t n);
	/* like pass, but checks after each barrier that all threads had reached it */
	void (*check)(struct barrier *, struct visitor *, struct visitor *all, uint64_t n);
	bool of_openmp; /* needs all threads of the OpenMP region */
};

extern const struct kind kind_central, kind_tree, kind_dissemination, kind_library, kind_openmp;

#endif
