/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A series: the same command --runs N times, each run in a new process, one after the other. So
 * each has new threads, page frames and addresses, and meets the machine at another time. The runs'
 * differences are a variation of their own, which no interval of a single run contains.
 */
#ifndef LOCUS_RUNS_H
#define LOCUS_RUNS_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "harness/ask/options.h"

struct program;

/*
 * True if this process is one run of a series: the options then have its place in the series, its
 * share of the time, and its part of the record.
 */
bool runs_is_one(struct options *);

/*
 * Starts the runs, passes signals on to them, and prints a table of all. `name`: the benchmark's,
 * or "suite". Returns the exit status.
 */
int runs_all(const struct program *, const struct options *, const char *name);

/* ---- what the runs left in a record ---- */

struct runs_last {
	uint64_t series;
	unsigned run;  /* from 1; 0: the last run is not of a series, or there is no file */
	bool complete; /* it has measured all of its trials */
};

/* The last run in a file. */
void runs_read_last(const char *path, struct runs_last *);

/*
 * The benchmarks that a series measured: [{"name", "metrics", "trials": {ID: {RUN: line}}}], in the
 * order of the file. A trial has one line per run, from the part that measured it last. NULL: the
 * file can't be read.
 */
json_t *runs_read(const char *path, uint64_t series);

/* ---- the table at the end of a series ---- */

/*
 * [{"benchmark", "id", "trial", "metric", "unit", "value", "low", "high", "spread", "ok", "of",
 * "tried"}], from runs_read(). `trial` names what differs within the benchmark. `value` is the
 * median of `of` runs: those whose trial is ok or, without any, all that measured it. `low` and
 * `high` are the interval of 95 % (order statistics), or the range if fewer than 6 runs are ok;
 * `spread` is (max - min) / median. NULL: no memory.
 */
json_t *runs_rows(const json_t *found);

/* Prints the rows of a series; nothing if it has none. */
void runs_table(const char *record, uint64_t series, enum format, FILE *);

#endif
