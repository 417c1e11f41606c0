/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The state of a run: what its parts share, its progress, and the functions of each part. The
 * watchdog reads it when the main thread does not return in time (machine/watchdog.h: the books).
 */
#ifndef LOCUS_RUN_H
#define LOCUS_RUN_H

#include "count/counting.h"
#include "count/markers.h"
#include "harness/judge/verdict.h"
#include "harness/plan/plan.h"
#include "harness/record/record.h"
#include "harness/run/budget.h"
#include "harness/run/table.h"
#include "harness/sample/series.h"
#include "machine/clock.h"

struct alternation;

/* LIKWID's regions: one for each trial, if likwid-perfctr -m has started this process. */
struct regions {
	struct markers *markers; /* NULL: none, see why_not */
	unsigned regions;
	char *why_not; /* NULL: nobody asked for them */
};

/* The line on stderr that shows a run's progress, and the time left. */
struct progress {
	bool wanted, shown;
	double last; /* clock_now() of the last line */
};

struct run {
	const struct options *options;
	const struct ranks *ranks; /* NULL: the run is not divided over ranks */
	struct setting setting;
	struct plans plans;
	struct budget budget;
	/* the threads that measure */
	struct team *team;
	struct counting *counting; /* NULL: no events were requested */
	struct regions regions;
	struct clock_quality clock;
	struct undisturbed *undisturbed; /* by CPU */
	uint64_t random;		 /* state of the generator that shuffles */
	/* where its results go */
	struct record *record;
	struct progress progress;
	struct table table;
	double seconds; /* estimated duration, s */
	double late;	/* s from --begin-at to the actual start */
	/* its progress */
	unsigned count[STATUSES], finished, skipped; /* trials */
	unsigned left;				     /* finished without being measured */
	int signal;				     /* the signal that ends the run; 0: none */
	char unwatched[256];			     /* why it has no watchdog; "": it has one */
	bool unwritable;	    /* no line can be written, which ends the run */
	bool headed;		    /* the record has its header */
	unsigned plan_at, trial_at; /* the first trial that was in no group yet */
	struct alternation *group;  /* being measured; NULL: none */
	const struct planned *hand; /* the trial that began last; NULL: none */
};

/* The advice when time was too short. */
#define RUN_MORE "give more with --time-budget, or choose smaller sizes"

/*
 * Whether a signal, or a record that cannot be written, ends the run. If so on one rank, then on
 * all of them.
 */
bool run_ended(struct run *);
/* Notes which trial the main thread works on. */
void run_take(struct run *, const struct planned *);
/* Notes and shows the trial that the main thread works on. */
void run_turn_to(struct run *, const struct planned *);
/* The status to exit with, as known so far. */
int run_status(const struct run *);

/* Nothing is shown if stderr is not a terminal, or is one that can't erase a line. */
void progress_begin(struct progress *, bool quiet);
/* Removes the line, so that something else can be printed. */
void progress_clear(struct progress *);

/* --- measure.c: benchmark after benchmark, group after group --- */

/* Measures all plans of the run, each within its share of the budget. */
void measure_plans(struct run *);

/* --- results.c: trials' lines in the record, and their rows in the table --- */

/* Ends the previous table, and begins one for the current plan's benchmark. */
void results_begin(struct run *);
/* Adds the series' newest batch, which is complete; `at`: s from the run's start to its own. */
void results_add_batch(struct run *, struct series *, double at);
/* Writes those batches of n trials that have waited for long. */
void results_write_late(struct run *, struct series *, unsigned n);
/* Writes all batches of a trial that wait. */
void results_write_batches(struct run *, struct series *);
/*
 * Writes the line of the next trial of the group that has none, and its row. `sync`: if it has
 * samples, waits until the disk has them.
 */
void results_write_next(struct alternation *, enum stopped, bool sync);
/* Writes the lines and rows of all trials that have none. On all ranks. */
void results_write_all(struct alternation *, enum stopped);
/* After the tables: prints what was not measured, why, and how to continue. */
void results_end(struct run *);

/* --- run.c: --begin-at --- */

/*
 * s until the moment of --begin-at, by this machine's clock; negative: it is past; 0: none was
 * given.
 */
double run_moment_left(const struct options *);
/*
 * Makes the run's time begin at the moment of --begin-at. To be called before cut_start(). Reports
 * a moment that is past.
 */
void run_moment_plan(struct run *);
/* Announces the wait, and waits until that moment, or for a signal. */
void run_moment_await(struct run *);
json_t *run_moment_json(const struct run *); /* `begin` of the header; NULL: none was given */

/* --- run_lines.c: the run's own lines of the record --- */

/* The header, and a line for the table of each benchmark. */
void run_header(struct run *);
void run_end(struct run *, int status);

/* --- regions.c --- */

/* To be called before the first parallel region (markers.h says why). */
void regions_open(struct regions *);
/*
 * Registers a region for each trial to be measured. If that is impossible, says why on stderr, and
 * the run continues without regions. On all ranks.
 */
void regions_register(struct regions *, struct plans *, const struct ranks *);
/* Whether the trial has a region. */
bool regions_has(const struct regions *, const struct planned *);
/*
 * After the last trial: reports how many regions LIKWID did not count, and lets it write its file.
 */
void regions_close(struct regions *, const struct plans *, const struct ranks *);
void regions_free(struct regions *);

json_t *regions_json(const struct regions *); /* `markers` of the header */

/* --- cut.c: the watchdog ends a run whose main thread does not return in time --- */

/*
 * Starts the watchdog; if it cannot, says so on stderr and in the header. From now on signals end
 * the run as watchdog.h says, and a pipe without a reader does not end a run that has a record.
 */
void cut_start(struct run *);
/* For errno of watchdog_start(): says so. `until`: when signals are looked for, "a sample". */
void cut_say_unwatched(struct run *, const char *until);
void cut_stop(void);

/* --- engine.c: everything between the command line and the exit status --- */

/*
 * Plans and measures options->benchmark, or if that is NULL all benchmarks of `table`. Prints the
 * results, writes the record, and returns the exit status. With ranks, this process is one of
 * several that measure together: rank 0 prints and writes for all of them, and all return the same
 * status.
 */
int engine_run(const struct options *, const struct benchmark *const *table, const struct ranks *);

#endif
