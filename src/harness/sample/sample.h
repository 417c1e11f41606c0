/* SPDX-License-Identifier: Apache-2.0 */
/* One timed execution of a trial's work. */
#ifndef LOCUS_SAMPLE_H
#define LOCUS_SAMPLE_H

#include "harness/sample/score.h"

/* Turn i of a batch: all rounds, and again, until every pair has met so often. */
struct turn sample_turn(const struct series *, unsigned i);

/*
 * Resets, works and scores, on all ranks, which get the same sample: it took as long as on the
 * slowest of them. Where a worker could not do its work, the series has failed, and the
 * sample is none. `keep`: the series keeps what pairs took. The team is seated, the allocation
 * ready.
 */
struct sample sample_take(struct series *, struct team *, struct noise *, struct turn, bool keep);

#endif
