/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the arrays hold, and what the kernels must make of it: small integers, so that sums are
 * exact in whatever order; their periods are prime, so that no whole line, vector or page is
 * another's like. The result begins as what no kernel stores.
 */
#ifndef LOCUS_NUMA_CONTENTS_H
#define LOCUS_NUMA_CONTENTS_H

#include <stdint.h>

#include "bench/numa/kernels.h"

enum { X, Y, RESULT, ARRAYS };

const char *contents_name(unsigned array);
/* Elements begin..end-1 of an array, which begins at `base`. */
void contents_fill(unsigned array, double *base, size_t begin, size_t end);

/* What element i of the result must be, of a kernel that writes. */
double expected_element(const struct kernel *, size_t i);
/* What x[begin..end) must sum up to in so many passes. */
double expected_sum(size_t begin, size_t end, uint64_t passes);

#endif
