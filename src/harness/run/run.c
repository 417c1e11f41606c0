/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "base/message.h"
#include "base/text.h"
#include "base/utf8.h"
#include "harness/run/run.h"
#include "kit/agree.h"
#include "machine/clock.h"
#include "machine/watchdog.h"

/* --- the line of progress --- */

#define ERASE "\r\033[K"

void progress_begin(struct progress *p, bool quiet)
{
	const char *terminal = getenv("TERM");

	*p = (struct progress){ .wanted = !quiet && isatty(STDERR_FILENO) && terminal &&
					  strcmp(terminal, "dumb") };
}

static int terminal_width(void)
{
	struct winsize size;

	return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) || !size.ws_col ? 80 : size.ws_col;
}

/* Bytes of the first so many characters. */
static size_t bytes_of(const char *text, int width)
{
	const char *at = text;

	for (; *at; at++)
		if (utf8_begins(*at) && width-- <= 0)
			break;
	return (size_t)(at - text);
}

/* Overwrites the line, at most ten times a second. `left`: s that the rest may take. */
static void progress_show(struct progress *p, const char *what, unsigned done, unsigned all,
			  double left)
{
	const double now = clock_now();
	char text[640], duration[TEXT_DURATION];

	if (!p->wanted || (p->shown && now - p->last < 0.1))
		return;
	snprintf(text, sizeof(text), "%u of %u, %s left  %s", done, all,
		 text_duration(duration, left), what);
	/* a line that the terminal wraps could not be erased */
	fprintf(stderr, ERASE "%.*s", (int)bytes_of(text, terminal_width() - 1), text);
	p->shown = true;
	p->last = now;
}

void progress_clear(struct progress *p)
{
	if (p->shown)
		fprintf(stderr, ERASE);
	p->shown = false;
}

/* --- progress of the run --- */

bool run_ended(struct run *r)
{
	r->signal = (int)agree_most(r->ranks, watchdog_signal());
	r->unwritable = agree_any(r->ranks, record_failed(r->record));
	return r->signal || r->unwritable;
}

/*
 * The estimate for the run minus the time elapsed, but at most the share of the trials that are
 * left. Once the run has exceeded its estimate: the mean time of a trial so far, for each that is
 * left.
 */
static double seconds_left(const struct run *r)
{
	const unsigned done = r->finished + r->skipped;
	const double elapsed = budget_elapsed(&r->budget), left = r->plans.trials - done,
		     share = left / fmax(1, r->plans.trials);

	if (elapsed < r->seconds)
		return fmin(r->seconds * share, r->seconds - elapsed);
	return done ? elapsed / done * left : 0;
}

void run_take(struct run *r, const struct planned *p)
{
	r->hand = p;
	if (r->options->hand)
		snprintf(r->options->hand, OPTIONS_HAND, "%s", p->name);
}

void run_turn_to(struct run *r, const struct planned *p)
{
	run_take(r, p);
	progress_show(&r->progress, p->name, r->finished + r->skipped, r->plans.trials,
		      seconds_left(r));
}

int run_status(const struct run *r)
{
	if (r->signal)
		return EXIT_SIGNAL + r->signal;
	if (r->unwritable || r->count[STATUS_WRONG] || r->count[STATUS_MISPLACED] ||
	    r->count[STATUS_FAILED])
		return EXIT_BAD;
	if (r->count[STATUS_IMPOSSIBLE] && r->options->benchmark &&
	    (options_select(r->options) || r->count[STATUS_IMPOSSIBLE] == r->plans.trials))
		return EXIT_IMPOSSIBLE;
	return counting_succeeded(r->counting) ? EXIT_GOOD : EXIT_IMPOSSIBLE;
}

/* ---- --begin-at: nodes that are given the same moment measure at the same time ---- */

#define LOOK	  0.1  /* s between looks for a signal while it waits */
#define TOLERATED 0.05 /* s: a later begin is reported */

static struct timespec moment_of(const struct options *o)
{
	const double whole = floor(o->begin_at);

	return (struct timespec){ .tv_sec = (time_t)whole,
				  .tv_nsec = (long)((o->begin_at - whole) * 1e9) };
}

/* Later runs of a series follow the first. */
static bool waits(const struct options *o)
{
	return o->begin_at > 0 && o->series.run <= 1;
}

double run_moment_left(const struct options *o)
{
	struct timespec now;

	if (!waits(o))
		return 0;
	clock_gettime(CLOCK_REALTIME, &now);
	return o->begin_at - (double)now.tv_sec - (double)now.tv_nsec * 1e-9;
}

void run_moment_plan(struct run *r)
{
	const double left = agree_most(r->ranks, run_moment_left(r->options));
	char when[RECORD_TIME], duration[TEXT_DURATION];

	if (left > 0)
		r->budget.began = clock_now() + left;
	if (left < -TOLERATED && rank_is_first(r->ranks))
		message_own("--begin-at: %s was %s ago: it begins at once",
			    record_time_of(moment_of(r->options), when),
			    text_duration(duration, -left));
}

static void announce(const struct run *r, double left)
{
	char when[RECORD_TIME], duration[TEXT_DURATION];

	if (left <= 0 || !table_is_read(&r->table))
		return;
	fprintf(r->table.printer.to, "begins at %s, in %s\n",
		record_time_of(moment_of(r->options), when), text_duration(duration, left));
	fflush(r->table.printer.to);
}

void run_moment_await(struct run *r)
{
	if (!waits(r->options))
		return;
	announce(r, -budget_elapsed(&r->budget));
	for (double left; (left = -budget_elapsed(&r->budget)) > 0 && !watchdog_signal();) {
		const double s = fmin(left, LOOK);
		const struct timespec pause = { .tv_nsec = (long)(s * 1e9) };

		nanosleep(&pause, NULL);
	}
	r->budget.began = fmin(r->budget.began, clock_now());
	r->late = fmax(0, -run_moment_left(r->options));
}

json_t *run_moment_json(const struct run *r)
{
	char when[RECORD_TIME];

	if (!waits(r->options))
		return NULL;
	record_time_of(moment_of(r->options), when);
	return json_pack("{s:s, s:o}", "at", when, "late", record_number(r->late));
}
