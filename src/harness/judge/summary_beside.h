/* SPDX-License-Identifier: Apache-2.0 */
/* What a trial's summary says of the neighbours on its level (sample/beside.h). */
#ifndef LOCUS_SUMMARY_BESIDE_H
#define LOCUS_SUMMARY_BESIDE_H

#include <jansson.h>

#include "harness/judge/verdict.h"
#include "harness/sample/series.h"

/*
 * A trial is noisy if its level was slow after more than this share of its batches: fewer leave
 * their median where it is.
 */
#define BESIDE_MOST_SLOW 0.5

json_t *beside_json(const struct series *); /* `beside` of `noise`; NULL: nobody was watched */
/*
 * Noisy: its level was slow after too many batches; or neighbours were busy, and no probe can tell
 * what they did. Of L3 it is a note.
 */
void beside_judge(const struct series *, struct verdict *);

#endif
