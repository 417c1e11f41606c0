/* SPDX-License-Identifier: Apache-2.0 */
#include <stddef.h>

#include "benchmarks.h"

#define LISTED(name) &name##_benchmark,
const struct benchmark *const benchmarks[] = { BENCHMARKS(LISTED) NULL };
const struct benchmark *const benchmarks_of_quick[] = { BENCHMARKS_OF_QUICK(LISTED) NULL };
const struct benchmark *const benchmarks_of_ranks[] = { BENCHMARKS_OF_RANKS(LISTED) NULL };
const struct benchmark *const benchmarks_for_tests[] = { BENCHMARKS_FOR_TESTS(LISTED) NULL };
