/* SPDX-License-Identifier: Apache-2.0 */
/* What a trial's summary says of counters, and of LIKWID's. */
#ifndef LOCUS_SUMMARY_COUNTERS_H
#define LOCUS_SUMMARY_COUNTERS_H

#include <jansson.h>

#include "harness/sample/series.h"
#include "harness/judge/verdict.h"

/* Notes counts that are doubtful or of few batches, and counting that changed the time. */
void counters_note(const struct series *, const json_t *counters, const json_t *counting,
		   struct verdict *);

/* `region` of the trial line: LIKWID's around its batches, on this rank. */
json_t *region_json(const struct series *);
/* Notes CPUs of the trial where LIKWID counted nothing, or did not run. */
void region_note(const struct series *, struct verdict *);

#endif
