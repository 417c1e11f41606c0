/* SPDX-License-Identifier: Apache-2.0 */
/* A trial's time and metrics, each with an interval. */
#ifndef LOCUS_ESTIMATES_H
#define LOCUS_ESTIMATES_H

#include <jansson.h>

#include "harness/sample/series.h"

/*
 * A number without the noisy samples, if they are set aside (series_sets_noise_aside), and with
 * them; NAN where there is none.
 */
struct estimates {
	struct estimate kept;
	double all;
};

/* The median of a batch's samples; `value`: by sample, NULL: the time. `aside`: without noisy ones.
 */
double estimates_batch(const struct series *, unsigned batch, const double *value, bool aside);
/* From the batches' medians of a value by sample; NULL: of the time. */
struct estimates estimates_values(const struct series *, const double *value);
struct estimates estimates_time(const struct series *);
/* The time in each allocation, in their order; returns how many have one. Room for all batches. */
size_t estimates_allocations(const struct series *, double *medians);
/* What the time scatters among allocations (estimate_scatter); NAN: unknown. */
double estimates_scatter(const struct series *);
/*
 * Whether the time's interval reaches at most the share `within` of the time; false if there is no
 * interval, true if the series has failed.
 */
bool estimates_converged(const struct series *);
/* `time` is estimates_time() of the series. */
struct estimates estimates_metric(const struct series *, unsigned metric, struct estimates time);

/* The range of too few allocations for an interval; null if there is one, or no range either. */
json_t *estimates_range(struct estimate);
/* `metrics` of the trial line. `why`: the reason for metrics without a number. */
json_t *estimates_json(const struct series *, struct estimates time, const char *why);

#endif
