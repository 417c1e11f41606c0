/* SPDX-License-Identifier: Apache-2.0 */
/* What is said of a trial's samples: how they spread, and whether they may be believed. */
#ifndef LOCUS_SUMMARY_SAMPLES_H
#define LOCUS_SUMMARY_SAMPLES_H

#include <jansson.h>

#include "harness/sample/series.h"
#include "harness/judge/verdict.h"

/* `samples` of the trial line, with a note where they are bimodal. */
json_t *samples_json(const struct series *, struct verdict *);
/* `spread_within` and `spread_between` of the trial line. */
void samples_spread(const struct series *, json_t *line);
/* Notes of what makes the samples' times doubtful. */
void samples_note_doubts(const struct series *, struct verdict *);

/* Medians: s between the first start and the last, s per core cycle; NAN: unknown. */
double samples_skew(const struct series *);
double samples_cycle(const struct series *);

#endif
