/* SPDX-License-Identifier: Apache-2.0 */
#include "harness/run/stop.h"
#include "kit/agree.h"

/* Ranks have to agree on this: they have the same samples, but perhaps not the same libm. */
bool stop_converged(const struct alternation *a, int allocation)
{
	bool wanting = false;

	for (unsigned i = 0; i < a->n && !wanting; i++)
		wanting = a->series[i].batches && !series_converged(&a->series[i], allocation);
	return !agree_any(a->run->ranks, wanting);
}

/* Whether the share is spent, or another allocation as long as the last would end too late. */
static bool spent(const struct alternation *a, bool enough, double began)
{
	const double now = budget_now(&a->run->budget);

	return now + (enough ? now - began : 0) >= a->end;
}

enum stopped stop_after(const struct alternation *a, unsigned allocation, double began,
			unsigned left, bool any)
{
	const bool enough = allocation + 1 >= a->allocations;
	struct run *r = a->run;

	if (run_ended(r))
		return STOPPED_SIGNAL;
	if (a->repeats && !left)
		return STOPPED_REPEATS;
	if (!a->repeats && enough && stop_converged(a, -1))
		return STOPPED_CONVERGED;
	if (!a->repeats && spent(a, enough, began))
		return STOPPED_BUDGET;
	if (!any || budget_now(&r->budget) >= r->budget.until)
		return STOPPED_BUDGET;
	return STOPPED_NOT_RUN;
}

enum stopped stop_reason(const struct alternation *a, const struct series *s, enum stopped stopped)
{
	if (stopped == STOPPED_REPEATS && s->samples < a->repeats)
		return STOPPED_BUDGET;
	if (stopped == STOPPED_BUDGET && !a->repeats && s->allocations >= a->allocations &&
	    !s->ready && series_converged(s, -1))
		return STOPPED_CONVERGED;
	return stopped;
}
