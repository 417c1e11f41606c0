/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The team: pinned threads that live in one OpenMP region for the whole run, with a barrier of
 * their own (libgomp's and libomp's differ). Worker 0 is the main thread: its work between two
 * team_run() is sequential.
 */
#ifndef LOCUS_TEAM_H
#define LOCUS_TEAM_H

#include <hwloc.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/apart.h"
#include "machine/usage.h"

struct machine;

/* Where a worker sits: numbers as the kernel gives them; node is the NUMA node of the cpu. */
struct place {
	int cpu, node;
};

/*
 * Places for n threads. bind: "close" (neighbouring cores) or "spread" (as far apart as possible),
 * both with one thread a core first, on the fastest kind first, then SMT siblings; "float": like
 * close, but threads only start there and may then move; or a list of CPUs, in its order. With
 * `oversubscribe` CPUs are reused from the first one on. -1 with *why, and errno: EINVAL if `bind`
 * is none of these, ENODEV if the machine has too few CPUs.
 */
int machine_bind(const struct machine *, const char *bind, unsigned n, bool oversubscribe,
		 struct place *, const char **why);

/*
 * Places for a canonical layout ("8+0": threads on each node with CPUs, one number a node). Within
 * a node they follow `bind` ("close", "spread"); for a list of CPUs, close. -1 with *why.
 */
int machine_layout(const struct machine *, const char *layout, const char *bind, bool oversubscribe,
		   struct place *, const char **why);
unsigned machine_layout_threads(const char *layout); /* 0: not a layout */

/*
 * The canonical layouts of a user's word, as benchmark.h defines them (P_LAYOUT); "8" is 8 threads
 * on the first node. They have `threads` threads; 0: the number that the word implies. "all" and
 * numbers fix the number of threads, and another `threads` is an error. machine_layout() checks
 * that they fit. Returns one block, to be freed; NULL with *why, and errno as machine_bind().
 */
char **machine_layouts(const struct machine *, const char *word, unsigned threads, unsigned *n,
		       const char **why);

/* One thread of the team, pinned; its fields don't share a line with another worker's. */
struct worker {
	_Alignas(APART) unsigned index;
	unsigned threads;
	/* index into the benchmark's roles; in a pair 0 or 1 */
	unsigned role;
	/*
	 * group: index of the worker's pair among the pairs that meet at the same time, or
	 * TEAM_IDLE; meeting: number of the pair's earlier meetings in this batch
	 */
	unsigned group, meeting;
	struct place place;
	uint64_t count; /* units for this worker; UINT64_MAX: until *stop */
	/* BY_DEADLINE: raised when time is up; with TOGETHER: when the first worker is done */
	const _Atomic bool *stop;
	uint64_t done; /* units that this worker did: work() sets it */
	/*
	 * part of `done` between the start of the last worker and *stop: work() sets it, with
	 * TOGETHER
	 */
	uint64_t together;
	/* why the worker, and so the trial, failed: work() sets it; NULL: it did not */
	const char *failed;
};
#define TEAM_IDLE (~0u)

struct team;

/*
 * Opens an OpenMP region of `threads` threads, runs body(team, argument) on worker 0, and returns
 * its result; -1 with errno: EAGAIN if OpenMP created fewer threads, ENOMEM.
 */
int team_open(unsigned threads, int (*body)(struct team *, void *), void *argument);

/*
 * Makes the first `threads` threads the workers from now on, pins each to its place, and verifies
 * where it runs. The others sleep. -1 with errno set, and the worker that could not be pinned in
 * *culprit.
 */
int team_seat(struct team *, const struct place *, unsigned threads, unsigned *culprit);
/* As team_seat(), but each may move within these CPUs; its place is only where it may start. */
int team_float(struct team *, const struct place *, unsigned threads, hwloc_const_bitmap_t within,
	       unsigned *culprit);
unsigned team_threads(const struct team *);
struct worker *team_worker(struct team *, unsigned index);

/*
 * Runs task(argument, worker) on every worker, and returns when all are done. Only worker 0 may
 * call it.
 */
void team_run(struct team *, void (*task)(void *, struct worker *), void *argument);

/* To be called by all workers, in a task: returns when all have. */
void team_barrier(struct team *);

/* One worker's measurements of a timed task. */
struct attendance {
	_Alignas(APART) double begin, end; /* s, clock_now() */
	struct usage before, after;	   /* around begin and end, barrier included */
	double width[2];		   /* clock_width() before and after all this; 0: unknown */
};

/*
 * As team_run(), timed: between the clock readings there is only task(). The stop flag is clear at
 * the start; it is raised after `deadline` (s; 0: none), and when `enough` of the workers
 * 0..watched-1 are done (0: never because of them). team_attendance() is valid until the next call.
 */
void team_time(struct team *, void (*task)(void *, struct worker *), void *argument,
	       double deadline, unsigned watched, unsigned enough);
/*
 * From now on, in team_time(), each worker calls ready(argument, worker), with the argument of its
 * task, after the last barrier and before the first clock reading: there it may wait for other
 * workers' tasks. NULL ends this.
 */
void team_ready(struct team *, void (*ready)(void *, struct worker *));
const struct attendance *team_attendance(const struct team *, unsigned worker);

/*
 * From now on each team_time() calls read(argument, worker, after) on each worker: right before the
 * first clock reading, after the last barrier (after: false), and right after the last reading
 * (after: true). So the call adds little to the counts, and is not timed. NULL ends this.
 */
void team_watch(struct team *, void (*read)(void *, struct worker *, bool after), void *argument);

#endif
