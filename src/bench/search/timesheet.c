/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>

#include "bench/search/timesheet.h"

struct weighted {
	double time, weight;
};

static int compare(const void *a, const void *b)
{
	const struct weighted *x = a, *y = b;

	return x->time < y->time ? -1 : x->time > y->time;
}

/*
 * All times kept, to be freed, and how many. Those of a searcher weigh as much as it had packets.
 */
static struct weighted *gather(const struct timesheet *const *timesheet, const double *s_per_tick,
			       unsigned timesheets, size_t *n)
{
	struct weighted *all = calloc((size_t)timesheets * KEPT + 1, sizeof(*all));

	*n = 0;
	for (unsigned i = 0; all && i < timesheets; i++)
		for (unsigned j = 0; j < timesheet[i]->kept; j++)
			all[(*n)++] = (struct weighted){ timesheet[i]->time[j] * s_per_tick[i],
							 (double)timesheet[i]->packets /
								 timesheet[i]->kept };
	return all;
}

/* The smallest value such that it and those below it have at least this weight. */
static double weighted_quantile(const struct weighted *all, size_t n, double weight)
{
	double passed = 0, found = NAN;

	for (size_t i = 0; i < n && passed < weight; i++) {
		passed += all[i].weight;
		found = all[i].time;
	}
	return found;
}

struct packet_times timesheet_times(const struct timesheet *const *timesheet,
				    const double *s_per_tick, unsigned timesheets)
{
	struct packet_times found = { NAN, NAN, NAN };
	double weight = 0, mean = 0, square = 0;
	struct weighted *all;
	size_t n;

	all = gather(timesheet, s_per_tick, timesheets, &n);
	if (!n) {
		free(all);
		return found;
	}
	qsort(all, n, sizeof(*all), compare);
	for (size_t i = 0; i < n; i++) {
		weight += all[i].weight;
		mean += all[i].weight * all[i].time;
	}
	mean /= weight;
	for (size_t i = 0; i < n; i++)
		square += all[i].weight * (all[i].time - mean) * (all[i].time - mean);
	found = (struct packet_times){ weighted_quantile(all, n, 0.5 * weight),
				       weighted_quantile(all, n, 0.99 * weight),
				       sqrt(square / weight) };
	free(all);
	return found;
}
