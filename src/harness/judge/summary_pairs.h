/* SPDX-License-Identifier: Apache-2.0 */
/* What is said of pairs of workers: by level of the machine, by CPU, and pair by pair. */
#ifndef LOCUS_SUMMARY_PAIRS_H
#define LOCUS_SUMMARY_PAIRS_H

#include <jansson.h>

#include "harness/sample/pairs.h"
#include "harness/judge/verdict.h"

/*
 * `pairs` of the trial line (doc/schema/README.md), with a note of levels whose pairs disturb each
 * other; null before anything was measured, and for NULL. Sorts what was measured.
 */
json_t *summary_pairs(struct pairs *, const struct trial *, struct verdict *);

#endif
