/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One thread on each of some CPUs, which sleeps until it is given a task: for libraries that keep
 * their books by thread or by CPU, and so need the same thread on a CPU each time.
 */
#ifndef LOCUS_CPUTHREADS_H
#define LOCUS_CPUTHREADS_H

#include <stdbool.h>

struct cputhreads;

/*
 * Creates the threads, each pinned to its CPU. NULL with errno set; where one could not be pinned,
 * *culprit is its CPU, else -1.
 *
 * Like all threads of ours they are created after affinity_inherit(), which says why.
 */
struct cputhreads *cputhreads_open(const int *cpu, unsigned n, int *culprit);
/* NULL is fine. */
void cputhreads_close(struct cputhreads *);

/*
 * Runs task(argument, i) in thread i for each i with wanted[i] (NULL: in all), side by side, and
 * returns when all are done.
 */
void cputhreads_run(struct cputhreads *, const bool *wanted,
		    void (*task)(void *argument, unsigned thread), void *argument);

#endif
