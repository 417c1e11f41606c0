/* SPDX-License-Identifier: Apache-2.0 */
/* How much allocations of trials like those at hand scatter (base/statistics.h). */
#ifndef LOCUS_TYPICAL_H
#define LOCUS_TYPICAL_H

#include "harness/run/alternation.h"

/*
 * Finds it for each trial of a group: from the group or, where that is too small, from all trials
 * of the benchmark that this run has measured. To be called again when there are new allocations.
 */
void typical_find(struct alternation *);

#endif
