/* SPDX-License-Identifier: Apache-2.0 */
/* What a trial's summary says of noise, and when a trial is noisy. */
#ifndef LOCUS_SUMMARY_NOISE_H
#define LOCUS_SUMMARY_NOISE_H

#include <jansson.h>

#include "harness/sample/estimates.h"
#include "harness/judge/verdict.h"

/*
 * A trial is noisy if noise may have moved its result: if noisy samples can't be set aside because
 * an allocation has too few others, or if the host stole more than NOISE_MOST_STOLEN of its time,
 * which no sample shows. More than NOISE_MOST_SAMPLES of noisy samples are worth a note.
 */
#define NOISE_MOST_STOLEN  0.1
#define NOISE_MOST_SAMPLES 0.1

size_t noise_samples(const struct series *); /* that are noisy */
json_t *noise_json(const struct series *);   /* `noise` of the trial line */
/* Judges a series that has samples and a time. */
void noise_judge(const struct series *, struct estimates time, struct verdict *);

#endif
