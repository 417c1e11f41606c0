/* SPDX-License-Identifier: Apache-2.0 */
/* Which of a benchmark's metrics the harness measures, and which collect() reports. */
#ifndef LOCUS_METRICS_H
#define LOCUS_METRICS_H

#include "benchmark.h"

bool metric_is_time(const struct metric *);	/* the harness takes it */
bool metric_is_reported(const struct metric *); /* collect() reports it after each sample */
const char *metric_better(const struct metric *); /* "lower", "higher", or NULL */

#endif
