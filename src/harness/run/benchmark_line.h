/* SPDX-License-Identifier: Apache-2.0 */
/* A benchmark's table as a line of the record, for programs that plot or compare results. */
#ifndef LOCUS_BENCHMARK_LINE_H
#define LOCUS_BENCHMARK_LINE_H

#include <jansson.h>

#include "benchmark.h"

/* The benchmark line of doc/schema/README.md, without what record_line() adds. */
json_t *benchmark_line(const struct benchmark *);

#endif
