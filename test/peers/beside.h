/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two ways to measure the same thing, side by side: the time of a thread, and a line for the pairs
 * of runs.
 */
#ifndef LOCUS_BESIDE_H
#define LOCUS_BESIDE_H

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <time.h>

#include "base/statistics.h"
#include "goal.h"

/* s that this thread had a CPU: preemption does not count. */
static inline double cpu_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/*
 * The medians of both (s), of the ratios of the pairs with its 95 % interval, and whether it is
 * within `limit` of 1 (goal.h). Sorts both.
 */
static inline void print_beside(const char *what, double *ours, double *theirs, unsigned pairs,
				double limit, bool *differ)
{
	double ratio[pairs], low = NAN, high = NAN, middle;

	for (unsigned i = 0; i < pairs; i++)
		ratio[i] = ours[i] / theirs[i];
	statistics_sort(ours, pairs);
	statistics_sort(theirs, pairs);
	statistics_sort(ratio, pairs);
	middle = statistics_quantile(ratio, pairs, 0.5);
	statistics_median_interval(ratio, pairs, &low, &high);
	*differ |= goal_missed(low, high, 1 - limit, 1 + limit);
	printf("%-26s  %8.3f ns  %8.3f ns  %6.3f  [%.3f, %.3f]  within %2.0f %%: %s\n", what,
	       1e9 * statistics_quantile(ours, pairs, 0.5),
	       1e9 * statistics_quantile(theirs, pairs, 0.5), middle, low, high, 100 * limit,
	       goal_outcome(low, high, 1 - limit, 1 + limit));
	fflush(stdout);
}

#endif
