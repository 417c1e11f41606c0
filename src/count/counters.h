/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What was counted while a sample ran: events of the processor, of its packages, and of the kernel,
 * each by the worker that it happened to.
 *
 * Who counts an event is found by its name; the first that knows it, and can start it on the
 * calling thread, does:
 *   kernel  getrusage(RUSAGE_THREAD), CLOCK_THREAD_CPUTIME_ID, schedstat: `faults`, `minor-faults`,
 *           `major-faults`, `context-switches`, `voluntary-switches`,
 *           `involuntary-switches`, `migrations` (1: the task ended on another CPU than it began
 *           on), `cpu-time`, `run-delay`. Nobody forbids these.
 *   perf    `perf::NAME`, as libpfm4 writes it, by perf_event_open(): events of the kernel's
 *           software, in the kernel, too, where that may be looked at.
 *   papi    any preset or native event, by PAPI's low-level calls, in user space (its default); the
 *           library is loaded when a name is for it, and its version
 *           has to be the header's. A set of events for each thread and component is made, started,
 *           read, stopped and destroyed on that thread.
 *   perf    the same names as above and those of the processor, in user space, as PAPI counts them:
 *           where PAPI is not there, or can't, or events take turns.
 * Under likwid-perfctr, with -m or without, the processor's counters are LIKWID's, and only what
 * the kernel counts by itself can be had. What none can count has a `why` instead, and never a
 * value.
 *
 * Nothing is estimated: an event that the processor has no counter left for goes into another pass,
 * which is found by starting it together with the others; only with `multiplex` do events share
 * counters, and are extrapolated: then a difference says little, and may be less than none; their
 * sum over the tasks of a start is what the estimate came to. One that perf had to take off its
 * counter for a while has no value.
 *
 * Each worker reads its own at both ends of a task (team_watch()), outside of the clock's readings.
 * What the ends themselves add is the same for each sample, next to a millisecond's work nothing,
 * and in the count: some 600 instructions in user space on aarch64. Sources are read in order of
 * what they cost, the kernel's first before a task and last after it, so that PAPI's stand next to
 * the task.
 *
 * What belongs to a package (uncore, RAPL) is counted once for each package of a node, however many
 * workers and processes sit on it: by the first worker on it, with the set attached to that CPU, or
 * by a worker of the package that is in the name; by the node's first worker where nobody sits
 * there, or where an event is the whole node's (network). counters_duties() says who that is.
 *
 * That an event can be counted is found out once, on one thread. It may yet fail on a team - others
 * took the counter, files are short: that has a reason of its own (counters_failure()), and the
 * next start tries again.
 *
 * A zero may be true, or a counter that does not count: some can be opened and always read 0 (in
 * virtual machines, and of emulated processors). So each event is tried on a piece of work that
 * does a little of everything; `proven` is what then counted something.
 */
#ifndef LOCUS_COUNTERS_H
#define LOCUS_COUNTERS_H

#include <stdbool.h>
#include <stddef.h>

struct place;
struct team;

/* Among names it stands for those that a benchmark has, and is never an event's. */
#define DEFAULT_SET "default"

/* each worker counts its own; one worker a package counts for all (uncore, RAPL) */
enum scope { PER_THREAD, PER_PACKAGE };

struct event {
	const char *name;   /* as asked for */
	const char *source; /* "papi", "perf", "kernel"; NULL: it can't be counted */
	const char *unit;   /* "1"; "s", "J"... as the library says */
	enum scope scope;
	unsigned pass; /* the pass that counts it, 0, 1, ... */
	/* counted something in the probe, or is the kernel's: a zero of it can be believed */
	bool proven;
	/* NULL; else why it can't be counted at all, and what to do about it: one line */
	char *why;
};

struct counters;

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
 * By event and worker, whether it is that worker's to count, of a team with these places; to be
 * freed. Where several processes share the node, all of them call it, with ranks of theirs that
 * differ, and most_here() makes each value the largest of theirs; NULL: there is but this one.
 * NULL: ENOMEM.
 */
bool *counters_duties(const struct counters *, const struct place *, unsigned threads,
		      unsigned rank, void (*most_here)(double *, size_t));

/*
 * Makes and starts the events of a pass on the seated workers whose duty they are; from then on the
 * team reads them next to each task of team_time(). What can't be started on one of them is left
 * out there, and has no value; before that, as many files are allowed as may be. `duty` is not
 * kept.
 */
void counters_start(struct counters *, struct team *, unsigned pass, const bool *duty);
void counters_stop(struct counters *, struct team *);

/*
 * Since the last start, and until the next: why an event could not be started, or, which is known
 * once stopped, be read by somebody whose duty it was. NULL: it could.
 */
const char *counters_failure(const struct counters *, unsigned event);

/*
 * What a worker counted in the last team_time(); NAN: not in this pass, not its to count, not
 * started, or not counted all the time.
 */
double counters_value(const struct counters *, unsigned worker, unsigned event);

/* ---- what this machine can count, for those who want to know before ---- */

struct reason {
	char what[320];	  /* one line */
	char remedy[192]; /* a command; "": none is known */
};

enum counted { BY_PROCESSOR, BY_KERNEL };

/*
 * Tries to open such an event with perf_event_open: cycles, or context switches. True: it can't be,
 * and why.
 */
bool counters_forbidden(enum counted, struct reason *);

/*
 * Loads PAPI. How many of its presets can be counted here; its version. 0: why none, with a version
 * where there is a library.
 */
unsigned counters_presets(char version[32], struct reason *);

#endif
