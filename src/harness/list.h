/* SPDX-License-Identifier: Apache-2.0 */
/* `locus list`: the table, for people and for completion. */
#ifndef LOCUS_LIST_H
#define LOCUS_LIST_H

#include <stdio.h>

#include "benchmark.h"

/* Every benchmark in a line. */
void list_benchmarks(const struct benchmark *const *table, FILE *);
/* One of them whole: variants, parameters with their defaults by profile, metrics, protocol, source. */
void list_benchmark(const struct benchmark *, FILE *);

/* By name, internal ones too; NULL with a message, and the nearest name. */
const struct benchmark *find_benchmark(const struct benchmark *const *table, const char *name);

#endif
