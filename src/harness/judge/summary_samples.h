/* SPDX-License-Identifier: Apache-2.0 */
/* What a trial's summary says of its samples: their modes, and what makes them doubtful. */
#ifndef LOCUS_SUMMARY_SAMPLES_H
#define LOCUS_SUMMARY_SAMPLES_H

#include <jansson.h>

#include "harness/sample/series.h"
#include "harness/judge/verdict.h"

/* `samples` of the trial line; notes that they have two modes, or changed. */
json_t *samples_json(const struct series *, struct verdict *);
/* Notes what makes the samples' times doubtful. */
void samples_note_doubts(const struct series *, struct verdict *);

/* Median s between the first start and the last; NAN: unknown. */
double samples_skew(const struct series *);
/*
 * s per core cycle, so that `time` (the trial's) over it is the trial's value in cycles: that of
 * the same samples as `time`, each batch in cycles of its own. NAN where fewer than half of the
 * batches with a time know their cycle, and where threads outnumber CPUs: a unit's time is then
 * mostly that of waiting for one.
 */
double samples_cycle(const struct series *, double time);

#endif
