/* SPDX-License-Identifier: Apache-2.0 */
/* `locus list`: the table, for people and for completion. */
#ifndef LOCUS_LIST_H
#define LOCUS_LIST_H

#include <stdio.h>

#include "benchmark.h"

/* Every benchmark in a line. */
void list_benchmarks(const struct benchmark *const *table, FILE *);
/*
 * One of them whole: variants, parameters with their defaults by profile, metrics, protocol,
 * source.
 */
void list_benchmark(const struct benchmark *, FILE *);

/*
 * For completion, one in a line: commands are the caller's; here the benchmarks, or the options of
 * one ("--kernel").
 */
void list_names(const struct benchmark *const *table, const struct benchmark *, FILE *);
/* The sections of the man page that the tables hold: common options, and every benchmark. */
void list_man(const struct benchmark *const *table, FILE *);

#endif
