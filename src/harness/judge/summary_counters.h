/* SPDX-License-Identifier: Apache-2.0 */
/* What is said of counters, and of LIKWID's, in a trial. */
#ifndef LOCUS_SUMMARY_COUNTERS_H
#define LOCUS_SUMMARY_COUNTERS_H

#include <jansson.h>

#include "harness/sample/series.h"
#include "harness/judge/verdict.h"

/* Notes of counts that are doubtful or of few batches, and of counting that changed the time. */
void counters_note(const struct series *, const json_t *counters, const json_t *counting,
		   struct verdict *);

/* `region` of the trial line: LIKWID's around its batches, on this rank. */
json_t *region_json(const struct series *);
/* Notes of CPUs where LIKWID counted nothing, or was not. */
void region_note(const struct series *, struct verdict *);

#endif
