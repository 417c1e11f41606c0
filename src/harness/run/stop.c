/* SPDX-License-Identifier: Apache-2.0 */
#include "harness/run/stop.h"
#include "harness/run/typical.h"
#include "kit/agree.h"

/* Ranks have to agree on this: they have the same samples, but perhaps not the same libm. */
static bool converged(struct alternation *a)
{
	bool wanting = false;

	typical_find(a);
	for (unsigned i = 0; i < a->n && !wanting; i++)
		wanting = a->series[i].samples.batches && !series_converged(&a->series[i]);
	return !agree_any(a->run->ranks, wanting);
}

/*
 * The next look has twice as many allocations, which take as long again as those until now, a tenth
 * more or less. If there is no time for them, more than these would be of no use: only at looks do
 * intervals become narrower.
 */
static bool has_time_to_double(const struct alternation *a, double now)
{
	return now + 0.9 * (now - a->began) < a->end;
}

/* For a trial without a fixed number of samples. */
static enum stopped after_allocations(struct alternation *a, unsigned allocations)
{
	const double now = budget_now(&a->run->budget);

	if (!statistics_is_look(allocations))
		return now >= a->end && allocations < LEAST_VALUES ? STOPPED_BUDGET
								   : STOPPED_NOT_RUN;
	if (converged(a))
		return STOPPED_CONVERGED;
	return allocations >= a->allocations || !has_time_to_double(a, now) ? STOPPED_BUDGET
									    : STOPPED_NOT_RUN;
}

enum stopped stop_after(struct alternation *a, unsigned allocations, unsigned left, bool any)
{
	struct run *r = a->run;
	enum stopped stopped = STOPPED_NOT_RUN;

	if (run_ended(r))
		return STOPPED_SIGNAL;
	if (a->repeats && !left)
		return STOPPED_REPEATS;
	if (!a->repeats)
		stopped = after_allocations(a, allocations);
	if (stopped == STOPPED_NOT_RUN && (!any || budget_now(&r->budget) >= r->budget.until))
		return STOPPED_BUDGET;
	return stopped;
}

enum stopped stop_reason(const struct alternation *a, const struct series *s, enum stopped stopped)
{
	if (stopped == STOPPED_REPEATS && s->samples.n < a->repeats)
		return STOPPED_BUDGET;
	if (stopped == STOPPED_BUDGET && !a->repeats && !s->ready && series_converged(s))
		return STOPPED_CONVERGED;
	return stopped;
}
