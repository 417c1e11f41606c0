/* SPDX-License-Identifier: Apache-2.0 */
/* A trial's time and metrics, each with an interval. */
#ifndef LOCUS_ESTIMATES_H
#define LOCUS_ESTIMATES_H

#include <jansson.h>

#include "harness/sample/series.h"

/* A number, its interval, and the number without the noisy samples; NAN where there is none. */
struct estimates {
	struct estimate all;
	double clean;
};

/* From the batches' medians of a value by sample; NULL: of the time, without noisy samples. */
struct estimate estimates_values(const struct series *, const double *value);
struct estimates estimates_time(const struct series *);
/* `time` is estimates_time() of the series. */
struct estimates estimates_metric(const struct series *, unsigned metric, struct estimates time);

/* `metrics` of the trial line. `why`: the reason for metrics without a number. */
json_t *estimates_json(const struct series *, struct estimates time, const char *why);

#endif
