/* SPDX-License-Identifier: Apache-2.0 */
/* Ends a run whose main thread does not return in time: the watchdog closes the books. */
#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "base/message.h"
#include "harness/run/alternation.h"
#include "kit/agree.h"
#include "machine/threads/affinity.h"
#include "machine/watchdog.h"

/*
 * How long the main thread may stay away. GRACE: s after a signal, on the rank that writes the
 * record; the other ranks have longer, since mpirun kills the writing rank when one of them has
 * ended. Beyond the time budget: a share of it, and OVERTIME s.
 */
#define GRACE		0.7
#define GRACE_OF_OTHERS 1.2
#define OVERTIME_SHARE	0.1
#define OVERTIME	1.0
/* s for the watchdog to write lines of trials that were not begun: thousands would take longer. */
#define LINES 0.5

/* --- on the watchdog's thread; only the end line waits for the disk, which may be slow --- */

/*
 * Writes the lines of the current group: for all trials that were begun, for others until `enough`.
 */
static void write_rest(struct alternation *a, enum stopped stopped, double enough)
{
	while (a->recorded < a->n)
		if (a->series[a->recorded].begun || clock_now() < enough)
			results_write_next(a, stopped, false);
		else
			a->recorded++;
}

/* Writes lines of the current plan's trials that were in no group yet, until `enough`. */
static void write_unbegun(struct run *r, enum stopped stopped, double enough)
{
	const struct plan *plan = &r->plans.plan[r->plan_at];

	for (; r->trial_at < plan->trials && clock_now() < enough; r->trial_at++) {
		struct planned *p = &plan->trial[r->trial_at];
		struct series series;
		struct alternation a = {
			.run = r, .series = &series, .n = 1, .at = budget_elapsed(&r->budget)
		};

		/*
		 * Counting is not gathered: dividing the counts of packages needs a call to other
		 * ranks.
		 */
		r->skipped += p->again;
		if (p->done || series_open(&series, p, r->ranks ? NULL : r->counting))
			continue;
		if (p->refusal)
			series.evidence.impossible = strdup(p->refusal);
		results_write_next(&a, stopped, false);
		series_close(&series);
	}
}

static void say_why(const struct run *r, int signal, const char *what)
{
	const char *name = r->hand ? r->hand->name : NULL, *output = r->options->output;

	message_own("%s: cut off while %s%s%s%s%s%s",
		    signal ? watchdog_signal_name(signal) : "time budget spent", what,
		    name ? " " : "", name ? name : "",
		    output ? "; what was measured before is in " : "", output ? output : "",
		    signal ? "" : "; " RUN_MORE);
}

/* Lets LIKWID write its counts. The main thread may be in a region, but never in LIKWID's code. */
static void end_regions(struct run *r)
{
	if (r->headed)
		regions_close(&r->regions, &r->plans, r->ranks);
}

static int close_books(struct run *r, int signal, const char *what)
{
	const enum stopped stopped = signal ? STOPPED_SIGNAL : STOPPED_BUDGET;
	const double enough = clock_now() + LINES;
	int status;

	if (!rank_is_first(r->ranks))
		return run_status(r);
	progress_clear(&r->progress);
	say_why(r, signal, what);
	if (!r->headed) /* no line was written: nothing to close */
		return run_status(r);
	if (r->group)
		write_rest(r->group, stopped, enough);
	write_unbegun(r, stopped, enough);
	while (++r->plan_at < r->plans.plans && clock_now() < enough) {
		results_begin(r);
		write_unbegun(r, stopped, enough);
	}
	table_close(&r->table);
	r->unwritable = record_failed(r->record);
	results_end(r);
	status = run_status(r);
	run_end(r, status);
	if ((!message_flush() || record_failed(r->record)) && !status)
		return EXIT_BAD;
	return status;
}

static int cut(void *argument, int signal, const char *what)
{
	struct run *r = argument;
	int status;

	r->signal = signal;
	status = close_books(r, signal, what);
	end_regions(r);
	return status;
}

/* --- on the main thread --- */

void cut_say_unwatched(struct run *r, const char *until)
{
	if (errno == EAGAIN)
		shortage_limit(r->unwatched, sizeof(r->unwatched));
	else
		snprintf(r->unwatched, sizeof(r->unwatched), "%s", strerror(errno));
	message_own("no thread for the watchdog (%s): a signal or the time budget ends this run "
		    "only after %s; raise it, or choose fewer threads",
		    r->unwatched, until);
}

void cut_start(struct run *r)
{
	const double grace = rank_is_first(r->ranks) ? GRACE : GRACE_OF_OTHERS;
	struct watch watch = { .grace = grace,
			       .cut = cut,
			       .leave = r->ranks ? r->ranks->leave : NULL,
			       .argument = r };
	struct budget *b = &r->budget;

	/* However long planning took, there is time left to measure. */
	b->last = fmax((1 + OVERTIME_SHARE) * b->deadline, budget_now(b)) + OVERTIME;
	watch.deadline = b->began + b->last + grace - GRACE;
	if (watchdog_start(&watch))
		cut_say_unwatched(r, "a sample");
	if (r->options->output) /* nobody reads the table any more, but the record continues */
		signal(SIGPIPE, SIG_IGN);
}

void cut_stop(void)
{
	watchdog_stop();
}
