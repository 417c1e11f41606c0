/* SPDX-License-Identifier: Apache-2.0 */
/* Which batches are in the record: several of a trial share a line, but none waits for long. */
#ifndef LOCUS_SAMPLES_TOLD_H
#define LOCUS_SAMPLES_TOLD_H

#include "harness/run/run.h"
#include "harness/sample/series.h"

/* The newest batch has come to its end, which began at so many s of the run. */
void samples_told_add(struct run *, struct series *, double at);
/* Writes what has waited for long, of n trials. */
void samples_told_late(struct run *, struct series *, unsigned n);
/* Writes what waits. */
void samples_told_rest(struct run *, struct series *);

#endif
