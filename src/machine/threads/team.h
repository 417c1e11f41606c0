/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The team: pinned threads that live in one OpenMP region for the whole run, and wait for each
 * other at a barrier of their own (libgomp and libomp wait differently). Worker 0 is the thread
 * that runs the program: what it does between two team_run() is sequential.
 */
#ifndef LOCUS_TEAM_H
#define LOCUS_TEAM_H

#include <hwloc.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/apart.h"
#include "machine/usage.h"

/* Where a worker sits: numbers as the kernel gives them; node is the NUMA node of the cpu. */
struct place {
	int cpu, node;
};

/* One thread of the team, pinned; its fields don't share a line with another worker's. */
struct worker {
	_Alignas(APART) unsigned index;
	unsigned threads;
	/* search or dispatcher, chase or background; of a pair, the first or the second */
	unsigned role;
	/*
	 * the pair, 0, 1, ... of those that meet at once, or IDLE; how often this pair has met in
	 * this batch
	 */
	unsigned group, meeting;
	struct place place;
	uint64_t count; /* units this worker is to do; UINT64_MAX: until *stop */
	/*
	 * BY_DEADLINE: raised when time is up; where a benchmark is scored `together`: when the
	 * first is done
	 */
	const _Atomic bool *stop;
	uint64_t done; /* units that this worker did: work() sets it */
	/*
	 * of these, from when all had begun until *stop was raised: work() sets it, where that is
	 * scored
	 */
	uint64_t together;
	/* why it can't do its work, and the trial fails: work() sets it; NULL before */
	const char *failed;
};
#define IDLE (~0u)

struct team;

/*
 * Opens a region of `threads` threads and runs body(team, argument) on worker 0; returns what it
 * returns, or -1 with errno set: EAGAIN when OpenMP gave fewer threads than asked for, ENOMEM.
 */
int team_open(unsigned threads, int (*body)(struct team *, void *), void *argument);

/*
 * Makes the first `threads` threads the workers of what follows, pins each to its place, and reads
 * back where it runs. The others sleep. -1 with errno set, and the worker that could not be pinned
 * in *culprit.
 */
int team_seat(struct team *, const struct place *, unsigned threads, unsigned *culprit);
/* The same, but each is free to move within these CPUs: its place is where it may begin. */
int team_float(struct team *, const struct place *, unsigned threads, hwloc_const_bitmap_t within,
	       unsigned *culprit);
unsigned team_threads(const struct team *);
struct worker *team_worker(struct team *, unsigned index);

/*
 * Runs task(argument, worker) on every worker, and returns when all are done. Only worker 0 may
 * call it.
 */
void team_run(struct team *, void (*task)(void *, struct worker *), void *argument);

/* For a task on all workers: returns when each of them has called it. */
void team_barrier(struct team *);

/* What one worker saw of one timed execution. */
struct attendance {
	_Alignas(APART) double begin, end; /* s, clock_now() */
	struct usage before, after;	   /* around begin and end, barrier included */
};

/*
 * The same, timed: between the clock readings there is nothing but task(). The stop flag is down
 * when it starts; with a deadline (s; 0: none) it is raised that long after the start, and in any
 * case when `enough` of the workers 0..watched-1 are done (0: nobody is waited for). What each saw
 * stays readable in team_attendance() until the next call.
 */
void team_time(struct team *, void (*task)(void *, struct worker *), void *argument,
	       double deadline, unsigned watched, unsigned enough);
const struct attendance *team_attendance(const struct team *, unsigned worker);

/*
 * Has read(argument, worker, after) called on each worker in each team_time() to come: after the
 * last barrier, right before the clock is read that begins its task (after: false), and right after
 * the clock is read that ends it (after: true). So what it counts is next to nothing but the task,
 * and the clock does not see it. NULL: no longer.
 */
void team_watch(struct team *, void (*read)(void *, struct worker *, bool after), void *argument);

#endif
