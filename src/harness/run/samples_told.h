/* SPDX-License-Identifier: Apache-2.0 */
/* Which batches are in the record: several of a trial share a line, but none waits for long. */
#ifndef LOCUS_SAMPLES_TOLD_H
#define LOCUS_SAMPLES_TOLD_H

#include "harness/run/run.h"
#include "harness/sample/series.h"

/* Adds the series' newest batch, which is complete; `at`: s from the run's start to its own. */
void samples_told_add(struct run *, struct series *, double at);
/* Writes the batches of n trials that have waited for long. */
void samples_told_late(struct run *, struct series *, unsigned n);
/* Writes all batches of a trial that wait. */
void samples_told_rest(struct run *, struct series *);

#endif
