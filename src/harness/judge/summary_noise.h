/* SPDX-License-Identifier: Apache-2.0 */
/* What a trial's summary says of noise, and when a trial is noisy. */
#ifndef LOCUS_SUMMARY_NOISE_H
#define LOCUS_SUMMARY_NOISE_H

#include <jansson.h>

#include "harness/sample/estimates.h"
#include "harness/judge/verdict.h"

/*
 * A trial is noisy if more than NOISE_MOST_SAMPLES of its samples are, if more than NOISE_MOST_LOST
 * of its time was lost, or if noisy samples shift its result by more than SERIES_CONVERGED_WITHIN.
 */
#define NOISE_MOST_SAMPLES 0.1
#define NOISE_MOST_LOST	   0.02

size_t noise_samples(const struct series *); /* that are noisy */
json_t *noise_json(const struct series *);   /* `noise` of the trial line */
/* Judges a series that has samples and a time. */
void noise_judge(const struct series *, struct estimates time, struct verdict *);

#endif
