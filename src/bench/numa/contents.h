/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The contents of the arrays, and the results that kernels must compute from them. Small integers,
 * so that sums are exact in any order; with prime periods, so that no two lines, vectors or pages
 * are equal. The result array starts as a value that no kernel stores.
 */
#ifndef LOCUS_NUMA_CONTENTS_H
#define LOCUS_NUMA_CONTENTS_H

#include <stdint.h>

#include "bench/numa/kernels.h"

enum { X, Y, RESULT, ARRAYS };

const char *contents_name(unsigned array);
/* Elements begin..end-1 of an array, which begins at `base`. */
void contents_fill(unsigned array, double *base, size_t begin, size_t end);

/* The correct element i of the result, for a kernel that writes. */
double contents_element(const struct kernel *, size_t i);
/* The correct sum of x[begin..end) over so many passes. */
double contents_sum(size_t begin, size_t end, uint64_t passes);

#endif
