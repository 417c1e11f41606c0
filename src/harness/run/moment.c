/* SPDX-License-Identifier: Apache-2.0 */
/* --begin-at: nodes of a cluster that are given the same moment measure at the same time. */
#include <math.h>
#include <time.h>

#include "base/message.h"
#include "base/text.h"
#include "harness/run/run.h"
#include "kit/agree.h"
#include "machine/watchdog.h"

#define LOOK	  0.1  /* s between looks for a signal while it waits */
#define TOLERATED 0.05 /* s: a begin that is later is told */

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

double moment_left(const struct options *o)
{
	struct timespec now;

	if (!waits(o))
		return 0;
	clock_gettime(CLOCK_REALTIME, &now);
	return o->begin_at - (double)now.tv_sec - (double)now.tv_nsec * 1e-9;
}

void moment_plan(struct run *r)
{
	const double left = agree_most(r->ranks, moment_left(r->options));
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

void moment_await(struct run *r)
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
	r->late = fmax(0, -moment_left(r->options));
}

json_t *moment_json(const struct run *r)
{
	char when[RECORD_TIME];

	if (!waits(r->options))
		return NULL;
	record_time_of(moment_of(r->options), when);
	return json_pack("{s:s, s:o}", "at", when, "late", record_number(r->late));
}
