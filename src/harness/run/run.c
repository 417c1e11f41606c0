/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>

#include "harness/run/run.h"
#include "kit/agree.h"
#include "machine/watchdog.h"

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

void run_turn_to(struct run *r, const struct planned *p)
{
	r->hand = p;
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
