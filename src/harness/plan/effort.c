/* SPDX-License-Identifier: Apache-2.0 */
#include <stdbool.h>

#include "harness/plan/effort.h"
#include "base/statistics.h"

static const struct {
	double time, one; /* s, of the whole command and of one trial; 0: no bound */
	double within;	  /* how far an interval may reach, relative to the value */
} efforts[PROFILES] = {
	[QUICK] = { 60, 4, 0.03 },
	[STANDARD] = { 0, 4, 0.01 },
	[PAPER] = { 0, 60, 0.01 },
};

/* s: an allocation should have at least so much of a trial's time, if there are to be more. */
#define ALLOCATION 0.1
enum { MOST_ALLOCATIONS = 48 };

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
