/* SPDX-License-Identifier: Apache-2.0 */
/* What a trial's summary says of where its pages lay. */
#ifndef LOCUS_SUMMARY_PLACEMENT_H
#define LOCUS_SUMMARY_PLACEMENT_H

#include <jansson.h>

#include "harness/sample/series.h"
#include "harness/judge/verdict.h"

/* `placement` of the trial line: before its samples; in it `after`, if that differs. */
json_t *placement_json(const struct series *);
/*
 * Judges misplaced pages; notes pages that were not read back one by one, and threads on nodes
 * where first touch leaves none.
 */
void placement_judge(const struct series *, struct verdict *);
/* Notes that huge pages were asked for and not obtained. */
void placement_note_huge(const struct series *, struct verdict *);

#endif
