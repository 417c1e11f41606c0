/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counts events of the processor, its packages and the kernel while samples run, separately for
 * each worker.
 *
 * An event's name decides which provider counts it: the first of these that knows the name and can
 * start the event on the calling thread.
 *   kernel  `faults`, `minor-faults`, `major-faults`, `context-switches`, `voluntary-switches`,
 *           `involuntary-switches`, `migrations` (1: the task ended on another CPU than it began
 *           on), `cpu-time`, `run-delay`. These need no permission.
 *   perf    `perf::NAME`, as libpfm4 writes it: software events, counted in the kernel, too, where
 *           permitted.
 *   papi    any preset or native event, in user space.
 *   perf    `perf::NAME` for hardware events, in user space, as PAPI would count them: used where
 *           PAPI is missing or can't count the event, or where events are multiplexed.
 * Under likwid-perfctr, with or without -m, LIKWID owns the processor's counters, and only kernel
 * and software events can be counted. An event that no provider can count has a `why` and no value.
 *
 * Counts are exact: an event for which the processor has no counter left goes into another pass
 * (schedule.h). With `multiplex` events share counters instead, and counts are extrapolated: the
 * sum over the tasks of a start is the estimate, while the count of a single task is unreliable and
 * may be negative. An event that lost its counter during a task has no value for it.
 *
 * Each worker reads its own counts before and after a task (team_watch()), outside the timed part.
 * The readings add a constant to each sample's count: some 600 instructions in user space on
 * aarch64, negligible next to a millisecond of work.
 *
 * Whether an event can be counted is tested once, on one thread. It may still fail on a team, when
 * another process took the counter or file descriptors ran out. Then counters_failure() says why,
 * and the next start tries again.
 */
#ifndef LOCUS_COUNTERS_H
#define LOCUS_COUNTERS_H

#include <stdbool.h>
#include <stddef.h>

#include "count/event.h"

struct counters;
struct place;
struct team;

/*
 * Finds a provider for each event and tries it on a short probe (some ms a pass). To be called on
 * the thread that will be worker 0, before or in team_open(). Events that do not fit into the
 * processor's counters share them within a sample, and counts are extrapolated (`multiplex`); or
 * they go into several passes. NULL: ENOMEM.
 */
struct counters *counters_open(const char *const *names, unsigned n, bool multiplex);
void counters_close(struct counters *); /* on the same thread; stopped before */
unsigned counters_events(const struct counters *);
const struct event *counters_event(const struct counters *, unsigned);
unsigned counters_passes(const struct counters *); /* 0: nothing can be counted */

/*
 * PAPI's version: "7.0.0.0". NULL: it is not in use; *why is the reason, valid until
 * counters_close(). `why` may be NULL.
 */
const char *counters_library(const struct counters *, const char **why);

/*
 * Which worker counts which event. An event of threads: every worker, for itself. An event of
 * packages: on each package of the host the first worker, however many workers and processes share
 * it. Events of a package without workers, and of the whole host (network): the host's first
 * worker.
 *
 * Returns, by event and worker of a team with these places, whether that worker counts the event.
 * The caller frees it; NULL: ENOMEM. All processes of the host call it, each with its rank.
 * most_host() replaces each value of an array by the largest of all these processes; NULL: this is
 * the only one.
 */
bool *counters_duties(const struct counters *, const struct place *, unsigned threads,
		      unsigned rank, void (*most_host)(double *, size_t));

/*
 * Starts the events of a pass on the seated workers to which `duty` assigns them (by event and
 * worker; not kept). From then on the team reads them around each task of team_time(). An event
 * that can't be started on a worker has no value there.
 */
void counters_start(struct counters *, struct team *, unsigned pass, const bool *duty);
void counters_stop(struct counters *, struct team *);

/*
 * Why a worker assigned to the event could not start it, or read it (known after counters_stop());
 * valid until the next start. NULL: all could.
 */
const char *counters_failure(const struct counters *, unsigned event);

/*
 * A worker's count in the last team_time(). NAN: not in this pass, not assigned to this worker, not
 * started, or not counted throughout.
 */
double counters_value(const struct counters *, unsigned worker, unsigned event);

#endif
