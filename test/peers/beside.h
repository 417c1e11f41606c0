/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two ways to measure the same thing, side by side: how such a program begins and ends, the time of
 * a thread, and a line for the pairs of runs.
 */
#ifndef LOCUS_BESIDE_H
#define LOCUS_BESIDE_H

#include <math.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/statistics.h"
#include "goal.h"
#include "machine/threads/affinity.h"
#include "machine/topology/topology.h"

struct beside_program {
	struct machine *machine;
	struct affinity affinity;
	unsigned pairs; /* alternating runs of each: the first argument, 15 by default */
};

/* False, after a message: the arguments are not as `usage` says, or the machine can't be read. */
static inline bool beside_begin(struct beside_program *p, int argc, char **argv, const char *name,
				const char *usage)
{
	const char *error = "can't find out which CPUs we may use";

	p->pairs = argc > 1 ? (unsigned)strtoul(argv[1], NULL, 10) : 15;
	p->machine = affinity_inherit(&p->affinity, &error) ? NULL : machine_open(NULL, &error);
	if (p->machine && p->pairs >= LEAST_VALUES && p->pairs <= 1000)
		return true;
	fprintf(stderr, "%s: %s\n", name, p->machine ? usage : error);
	return false;
}

static inline void beside_end(struct beside_program *p)
{
	machine_close(p->machine);
	affinity_free(&p->affinity);
}

/* Ends the program if that is not allowed: what it measures would mean something else. */
static inline void beside_stay_on(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET((size_t)cpu, &set);
	if (sched_setaffinity(0, sizeof(set), &set)) {
		perror("sched_setaffinity");
		exit(2);
	}
}

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
