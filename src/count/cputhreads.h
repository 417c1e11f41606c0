/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A pool of threads, one pinned to each of some CPUs, asleep between tasks: for libraries that keep
 * state by thread or CPU, so that the same thread must make all calls for a CPU.
 */
#ifndef LOCUS_CPUTHREADS_H
#define LOCUS_CPUTHREADS_H

#include <stdbool.h>

struct cputhreads;

/*
 * Creates the threads, each pinned to its CPU. NULL with errno set; where one could not be pinned,
 * *culprit is its CPU, else -1.
 *
 * To be called after affinity_inherit(), whose header says why.
 */
struct cputhreads *cputhreads_open(const int *cpu, unsigned n, int *culprit);
/* NULL is fine. */
void cputhreads_close(struct cputhreads *);

/*
 * Runs task(argument, i) concurrently in each thread i with wanted[i] (NULL: in all), and returns
 * when all are done.
 */
void cputhreads_run(struct cputhreads *, const bool *wanted,
		    void (*task)(void *argument, unsigned thread), void *argument);

#endif
