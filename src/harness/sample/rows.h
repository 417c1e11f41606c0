/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What each rank measured with others: a row of the trial for each rank. A rank keeps its own;
 * rank 0 gets at most ROWS_SENT of each, however many ranks it met.
 */
#ifndef LOCUS_ROWS_H
#define LOCUS_ROWS_H

#include <jansson.h>

#include "benchmark.h"

enum {
	ROWS_METRICS = 8, /* the most metrics with rows */
	ROWS_FIRST = 256, /* the ranks met first, which are any ... */
	ROWS_WORST = 16,  /* ... and of the others the worst, by each metric */
	ROWS_SENT = ROWS_FIRST + ROWS_METRICS * ROWS_WORST,
	ROWS_KEPT = 16, /* samples of a rank with another, the last */
};

struct rows;

struct rows *rows_open(const struct trial *); /* NULL: no memory */
void rows_close(struct rows *);
/* The metric's value with that rank in this sample. */
void rows_add(struct rows *, unsigned metric, unsigned with, double value);
/* Gives the row of each rank to rank 0. On all ranks, after the last sample. */
void rows_gather(struct rows *, const struct ranks *);
/*
 * On rank 0, once they are gathered: a list of {"rank", "host", "node", "with": [rank, ..], NAME:
 * [value, ..]}, the median of the samples for each rank met, null where a metric has none. `node`:
 * the lowest rank on the same node, as MPI sees it. Ranks that reported nothing are left out.
 */
json_t *rows_json(const struct rows *);

#endif
