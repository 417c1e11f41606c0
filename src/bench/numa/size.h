/* SPDX-License-Identifier: Apache-2.0 */
/* The size of an array for `auto`. */
#ifndef LOCUS_NUMA_SIZE_H
#define LOCUS_NUMA_SIZE_H

#include "benchmark.h"

/* bytes; see struct parameter */
uint64_t numa_size(const struct machine *, enum profile);

#endif
