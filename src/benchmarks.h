/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The benchmarks, in the order of the suite. To add one, make a folder in bench/ and add a line
 * here: among the benchmarks of the quick suite (which must stay within a minute), or after them.
 */
#ifndef LOCUS_BENCHMARKS_H
#define LOCUS_BENCHMARKS_H

#include "benchmark.h"

#define BENCHMARKS_OF_QUICK(X) \
	X(latency)             \
	X(numa)                \
	X(sharing)             \
	X(core_to_core)        \
	X(cores)               \
	X(checkpoint)          \
	X(kmeans)              \
	X(search)              \
	X(hashmap)             \
	X(actors)

#define BENCHMARKS(X)          \
	BENCHMARKS_OF_QUICK(X) \
	X(barriers)            \
	X(coherence)           \
	X(readers)             \
	X(prefetch)            \
	X(atomics)             \
	X(locks)

/*
 * Benchmarks that measure between the ranks of an MPI job: locus-mpi offers them beside those that
 * can be divided.
 */
#define BENCHMARKS_OF_RANKS(X) X(fabric)

/* For tests: run by name, but neither listed nor in the suite. */
#define BENCHMARKS_FOR_TESTS(X) X(dummy)

#define DECLARED(name) extern const struct benchmark name##_benchmark;
BENCHMARKS(DECLARED)
BENCHMARKS_OF_RANKS(DECLARED)
BENCHMARKS_FOR_TESTS(DECLARED)
#undef DECLARED

/* NULL at the end */
extern const struct benchmark *const benchmarks[],
	*const benchmarks_of_quick[], *const benchmarks_of_ranks[], *const benchmarks_for_tests[];

#endif
