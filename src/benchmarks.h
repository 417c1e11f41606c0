/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The list of benchmarks, in the order of the suite. To add one: a folder in bench/, and a line
 * here.
 */
#ifndef LOCUS_BENCHMARKS_H
#define LOCUS_BENCHMARKS_H

#include "benchmark.h"

#define BENCHMARKS(X)   \
	X(latency)      \
	X(numa)         \
	X(sharing)      \
	X(core_to_core) \
	X(checkpoint)   \
	X(kmeans)       \
	X(search)       \
	X(hashmap)      \
	X(dummy)

#define DECLARED(name) extern const struct benchmark name##_benchmark;
BENCHMARKS(DECLARED)
#undef DECLARED

extern const struct benchmark *const benchmarks[]; /* NULL at the end */

#endif
