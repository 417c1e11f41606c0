/* SPDX-License-Identifier: Apache-2.0 */
/* What is said of the noise in a trial's samples, and when it is too much. */
#ifndef LOCUS_SUMMARY_NOISE_H
#define LOCUS_SUMMARY_NOISE_H

#include <jansson.h>

#include "harness/sample/estimates.h"
#include "harness/judge/verdict.h"

/*
 * A trial is noisy when more than this share of its samples is, or of its time was lost, or when
 * they move its result by more than SERIES_CONVERGED_WITHIN.
 */
#define NOISE_MOST_SAMPLES 0.1
#define NOISE_MOST_LOST	   0.02

size_t noise_samples(const struct series *); /* that are noisy */
json_t *noise_json(const struct series *);   /* `noise` of the trial line */
/* There are samples, and a time. */
void noise_judge(const struct series *, struct estimates time, struct verdict *);

#endif
