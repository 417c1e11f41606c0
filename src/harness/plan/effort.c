/* SPDX-License-Identifier: Apache-2.0 */
/* How long and how often a run measures: as the user says, or else as its profile does. */
#include <math.h>

#include "base/statistics.h"
#include "harness/plan/plan.h"

static const struct {
	double time, one; /* s, of the whole command and of one trial; 0: no bound */
	double within;	  /* how far an interval may reach, relative to the value */
} efforts[PROFILES] = {
	[QUICK] = { 60, 4, 0.03 },
	[STANDARD] = { 0, 4, 0.01 },
	[PAPER] = { 0, 60, 0.01 },
};

/* s: an allocation should take at least so much of a trial's time, if there are to be several. */
#define ALLOCATION 0.1
enum { MOST_ALLOCATIONS = 48 };

/* Whether the profile bounds the whole command, and no option sets a time. */
static bool is_bounded(const struct options *o)
{
	return efforts[o->profile].time > 0 && !o->repeats && o->case_budget <= 0 &&
	       o->time_budget <= 0;
}

double effort_time(const struct options *o)
{
	return is_bounded(o) ? efforts[o->profile].time : o->time_budget;
}

double effort_case(const struct options *o)
{
	if (o->case_budget > 0)
		return o->case_budget;
	return is_bounded(o) || efforts[o->profile].time <= 0 ? efforts[o->profile].one : 0;
}

double effort_within(const struct options *o)
{
	return efforts[o->profile].within;
}

unsigned effort_allocations(double seconds)
{
	unsigned n = LEAST_VALUES;

	while (n < MOST_ALLOCATIONS && seconds >= 2 * n * ALLOCATION)
		n *= 2;
	return n;
}

unsigned effort_most_allocations(unsigned repeats)
{
	return !repeats ? MOST_ALLOCATIONS : repeats < LEAST_VALUES ? repeats : LEAST_VALUES;
}

/* ---- how long the whole run takes ---- */

/* s of one trial: for its fixed number of samples; else its budget, or the least that it needs. */
static double seconds_of(const struct planned *p, const struct options *o)
{
	if (p->repeats)
		return p->repeats * fmax(p->sample, plan_tournament(p));
	return fmax(effort_case(o), LEAST_VALUES * plan_tournament(p));
}

/* Whether the length of samples is unknown: their work is fixed, or ends by itself. */
static bool is_open(const struct planned *p)
{
	const struct trial *t = &p->trial;
	const struct role *role = t->variant->roles ? t->variant->roles : t->benchmark->roles;

	return !p->refusal && p->repeats && (p->needs.units || role->until == TO_COMPLETION);
}

static bool any_open(const struct plans *p)
{
	const struct planned *trial;

	for (unsigned i = 0; (trial = plans_trial(p, i)); i++)
		if (is_open(trial))
			return true;
	return false;
}

double plans_seconds(const struct plans *p, const struct options *o)
{
	const double time = effort_time(o), one = effort_case(o);
	const struct planned *trial;
	double sum = 0;

	for (unsigned i = 0; (trial = plans_trial(p, i)); i++)
		if (!trial->refusal)
			sum += seconds_of(trial, o);
	return time > 0 && (one <= 0 || time < sum || any_open(p)) ? time : sum;
}

const char *plans_bound(const struct plans *p, const struct options *o)
{
	return effort_time(o) > 0 ? "at most" : any_open(p) ? "at least" : "about";
}
