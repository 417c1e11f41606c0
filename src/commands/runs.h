/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A series: the same command --runs N times, each run in a new process, one after the other. So
 * each has new threads, page frames and addresses, and meets the machine at another time: how far
 * the runs lie apart is a level of its own, which no interval of a single run holds.
 */
#ifndef LOCUS_RUNS_H
#define LOCUS_RUNS_H

#include "harness/ask/options.h"

struct program;

/*
 * Whether this process is one run of a series: its place in the series, and what is its own of the
 * time and of the record, are then in the options.
 */
bool runs_is_one(struct options *);

/*
 * Starts the runs, passes signals on to them, and prints a table of all. `name`: of the benchmark,
 * or "suite". Returns the exit status.
 */
int runs_all(const struct program *, const struct options *, const char *name);

#endif
