/* SPDX-License-Identifier: Apache-2.0 */
/* What a trial's summary says of pairs: by level of the machine, by CPU, and pair by pair. */
#ifndef LOCUS_SUMMARY_PAIRS_H
#define LOCUS_SUMMARY_PAIRS_H

#include <jansson.h>

#include "harness/sample/pairs.h"
#include "harness/judge/verdict.h"

/*
 * `pairs` of the trial line (doc/schema/README.md); null if nothing was measured, and for NULL.
 * Notes levels whose pairs disturb each other. Sorts the meetings.
 */
json_t *summary_pairs(struct pairs *, const struct trial *, struct verdict *);

#endif
