/* SPDX-License-Identifier: Apache-2.0 */
/* The table: to add a benchmark, write a file in bench/ and a line here and in benchmarks.c. */
#ifndef LOCUS_BENCHMARKS_H
#define LOCUS_BENCHMARKS_H

#include "benchmark.h"

extern const struct benchmark latency_benchmark, numa_benchmark, sharing_benchmark, checkpoint_benchmark, kmeans_benchmark, search_benchmark, dummy_benchmark;

extern const struct benchmark *const benchmarks[]; /* NULL at the end */

#endif
