/* SPDX-License-Identifier: Apache-2.0 */
/* The table at the end of a series: of each trial and metric, how far the runs lie apart. */
#ifndef LOCUS_RUNS_TABLE_H
#define LOCUS_RUNS_TABLE_H

#include <jansson.h>
#include <stdint.h>
#include <stdio.h>

#include "harness/ask/options.h"

/*
 * [{"benchmark", "id", "trial", "metric", "unit", "value", "low", "high", "spread", "ok", "of",
 * "tried"}], from runs_read(). `trial` names what differs within the benchmark. `value` is the
 * median of the runs whose trial is ok, or if it is so in none, of all that measured it: `of` so
 * many. `low` and `high` are the interval of 95 % (order statistics), or the range if fewer than 6
 * of these are ok; `spread` is (max - min) / median. NULL: no memory.
 */
json_t *runs_rows(const json_t *found);

/* Prints the rows of a series; nothing if it has none. */
void runs_table(const char *record, uint64_t series, enum format, FILE *);

#endif
