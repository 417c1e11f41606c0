/* SPDX-License-Identifier: Apache-2.0 */
/* What the runs of a series left in a record. */
#ifndef LOCUS_RUNS_RECORD_H
#define LOCUS_RUNS_RECORD_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

struct runs_last {
	uint64_t series;
	unsigned run;  /* from 1; 0: the last run is not of a series, or there is no file */
	bool complete; /* it has measured all of its trials */
};

/* The last run in a file. */
void runs_read_last(const char *path, struct runs_last *);

/*
 * The benchmarks that a series measured: [{"name", "metrics", "trials": {ID: {RUN: line}}}], in the
 * order of the file. A trial has one line a run: that of the part that measured it last. NULL: the
 * file can't be read.
 */
json_t *runs_read(const char *path, uint64_t series);

#endif
