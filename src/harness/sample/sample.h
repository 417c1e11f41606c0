/* SPDX-License-Identifier: Apache-2.0 */
/* One timed execution of a trial's work. */
#ifndef LOCUS_SAMPLE_H
#define LOCUS_SAMPLE_H

#include "harness/sample/score.h"

/* Turn i of a batch: all rounds, repeated until every pair has met as often as the batch needs. */
struct turn sample_turn(const struct series *, unsigned i);

/*
 * Resets, works and scores on all ranks. All get the same sample, with the time of the slowest
 * rank. If a worker could not do its work, the series has failed, and the sample is invalid.
 * `keep`: the series keeps the times of pairs. The team is seated, the allocation ready.
 */
struct sample sample_take(struct series *, struct team *, struct noise *, struct turn, bool keep);

#endif
