/* SPDX-License-Identifier: Apache-2.0 */
#include <stdbool.h>

#include "harness/plan/effort.h"
#include "base/statistics.h"

/* s; 0: no bound */
static const struct {
	double time, one;     /* the whole command; one trial */
	unsigned allocations; /* at least */
} efforts[PROFILES] = {
	[QUICK] = { 60, 4, 2 },
	[STANDARD] = { 0, 4, 3 },
	[PAPER] = { 0, 60, 5 },
};

/* Whether the profile bounds the whole command, and the user gave no option for how long. */
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

unsigned effort_allocations(const struct options *o, unsigned repeats)
{
	const unsigned allocations = efforts[o->profile].allocations;

	return repeats && repeats < allocations ? repeats : allocations;
}

unsigned effort_batches(unsigned allocations)
{
	return (LEAST_VALUES + allocations - 1) / allocations;
}
