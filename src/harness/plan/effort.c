/* SPDX-License-Identifier: Apache-2.0 */
#include "harness/plan/effort.h"
#include "base/statistics.h"

/* s; 0: no bound */
static const struct {
	double time, one;     /* the whole command; one trial */
	unsigned allocations; /* at least */
} efforts[PROFILES] = {
	[QUICK] = { 8, 0, 2 },
	[STANDARD] = { 0, 4, 3 },
	[PAPER] = { 0, 60, 5 },
};

double effort_time(const struct options *o)
{
	return o->time_budget > 0 ? o->time_budget : efforts[o->profile].time;
}

double effort_case(const struct options *o)
{
	return o->case_budget > 0 ? o->case_budget : efforts[o->profile].one;
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
