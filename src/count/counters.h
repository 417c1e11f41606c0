/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counts events while samples run: of the processor, of its packages, and of the kernel, each for
 * the worker that it happened to.
 *
 * Who counts an event is found by its name; the first that knows it, and can start it on the
 * calling thread, does:
 *   kernel  `faults`, `minor-faults`, `major-faults`, `context-switches`, `voluntary-switches`,
 *           `involuntary-switches`, `migrations` (1: the task ended on another CPU than it began
 *           on), `cpu-time`, `run-delay`. Nobody forbids these.
 *   perf    `perf::NAME`, as libpfm4 writes it: events of the kernel's software, counted in the
 *           kernel, too, where that may be watched.
 *   papi    any preset or native event, in user space.
 *   perf    the same names as above and those of the processor, in user space, as PAPI counts them:
 *           where PAPI is not there, or can't, or events are multiplexed.
 * Under likwid-perfctr, with -m or without, the processor's counters are LIKWID's, and only what
 * the kernel counts by itself can be had. What none can count has a `why` instead, and never a
 * value.
 *
 * Nothing is estimated: an event that the processor has no counter left for goes into another pass
 * (schedule.h). Only with `multiplex` do events share counters, and are extrapolated: then a single
 * difference says little, and may be less than none; the sum over the tasks of a start is the
 * estimate. An event that perf had to take off its counter for a while has no value.
 *
 * Each worker reads its own counts at both ends of a task (team_watch()), outside of the clock's
 * readings. What the ends themselves add is the same for each sample: next to a millisecond's work
 * nothing, some 600 instructions in user space on aarch64.
 *
 * That an event can be counted is found out once, on one thread. It may yet fail on a team: others
 * took the counter, or file descriptors ran out. Then counters_failure() says why, and the next
 * start tries again.
 */
#ifndef LOCUS_COUNTERS_H
#define LOCUS_COUNTERS_H

#include <stdbool.h>
#include <stddef.h>

#include "count/event.h"

struct counters;
struct team;

/*
 * Finds out how each event can be counted here, and tries it on a short probe (some ms for each
 * pass). To be called on the thread that will be worker 0, before or in team_open(). With
 * `multiplex`, events that the processor can't count at once take turns within a sample, and the
 * counts are extrapolated; without, they go into several passes. NULL: ENOMEM.
 */
struct counters *counters_open(const char *const *names, unsigned n, bool multiplex);
void counters_close(struct counters *); /* on the same thread; stopped before */

unsigned counters_events(const struct counters *);
const struct event *counters_event(const struct counters *, unsigned);
unsigned counters_passes(const struct counters *); /* 0: nothing can be counted */

/*
 * PAPI's version: "7.0.0.0"; NULL: why not, in *why, which may be NULL and is valid until
 * counters_close().
 */
const char *counters_library(const struct counters *, const char **why);

/*
 * Starts the events of a pass on the seated workers whose duty they are (duties.h; by event and
 * worker, not kept); from then on the team reads them next to each task of team_time(). What can't
 * be started on a worker is left out there, and has no value; before that, the limit of open files
 * is raised as far as it may be.
 */
void counters_start(struct counters *, struct team *, unsigned pass, const bool *duty);
void counters_stop(struct counters *, struct team *);

/*
 * Since the last start, and until the next: why an event could not be started, or, which is known
 * once stopped, be read by a worker whose duty it was. NULL: it could.
 */
const char *counters_failure(const struct counters *, unsigned event);

/*
 * What a worker counted in the last team_time(); NAN: not in this pass, not its to count, not
 * started, or not counted all the time.
 */
double counters_value(const struct counters *, unsigned worker, unsigned event);

#endif
