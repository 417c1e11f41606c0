/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the kernel counts for each thread anyway: getrusage(RUSAGE_THREAD), CLOCK_THREAD_CPUTIME_ID
 * and schedstat.
 */
#ifndef LOCUS_KERNEL_H
#define LOCUS_KERNEL_H

#include "count/provider.h"

extern const struct provider kernel_provider;

#endif
