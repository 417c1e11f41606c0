/* SPDX-License-Identifier: Apache-2.0 */

#include "harness/run/alternation.h"
#include "harness/plan/plan.h"
#include "harness/run/measure.h"
#include "harness/run/sweeps.h"
#include "harness/run/tell.h"
#include "base/message.h"

static bool has_time(const struct run *r, const struct alternation *a)
{
	return budget_now(&r->budget) < budget_limit(&r->budget) &&
	       budget_affords(&r->budget, alternation_bytes(a));
}

/*
 * Measures n trials in turn, without those that are complete in a resumed file. Returns how many of
 * the n it took: if touching memory took too long, the rest is to be a group of its own.
 */
static unsigned measure_group(struct run *r, struct planned *p, unsigned n, double share)
{
	enum stopped stopped = STOPPED_SIGNAL;
	struct alternation a;
	unsigned opened, taken = n;

	if (alternation_open(&a, r, p, n, share)) {
		r->trial_at += n;
		message_own("no memory for a group of %u trials: choose fewer values", n);
		r->count[STATUS_FAILED] += n;
		alternation_close(&a);
		return n;
	}
	r->group = &a;
	r->trial_at += n;
	opened = a.n;
	if (a.n && !run_ended(r))
		stopped = has_time(r, &a) ? sweeps_measure(&a) : STOPPED_BUDGET;
	if (a.n < opened)
		taken = (unsigned)(a.series[a.n].planned - p);
	tell_all(&a, stopped);
	r->group = NULL;
	r->trial_at -= n - taken;
	alternation_close(&a);
	return taken;
}

static unsigned group_size(const struct planned *first, unsigned left)
{
	unsigned n = 1;

	while (n < left && first[n].group == first->group)
		n++;
	return n;
}

static void measure_plan(struct run *r)
{
	struct plan *plan = &r->plans.plan[r->plan_at];
	double left = budget_weigh(plan->trial, plan->trials);

	tell_plan(r);
	for (unsigned i = 0, taken; i < plan->trials; i += taken) {
		struct planned *first = &plan->trial[i];
		const unsigned n = group_size(first, plan->trials - i);

		taken = measure_group(r, first, n,
				      budget_share(&r->budget, effort_case(r->options),
						   budget_weigh(first, n), left, n));
		left -= budget_weigh(first, taken);
		for (unsigned j = taken; j < n; j++)
			first[j].group = plan->groups;
		plan->groups += taken < n;
	}
}

void measure_plans(struct run *r)
{
	for (unsigned i = 0; i < r->plans.plans; i++) {
		budget_divide(&r->budget, r->plans.plans - 1 - i);
		r->plan_at = i;
		measure_plan(r);
	}
}
