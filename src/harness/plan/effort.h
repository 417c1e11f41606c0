/* SPDX-License-Identifier: Apache-2.0 */
/* How long and how often a run measures: as the user says, or else as its profile does. */
#ifndef LOCUS_EFFORT_H
#define LOCUS_EFFORT_H

#include "harness/ask/options.h"

double effort_time(const struct options *); /* s, of the whole command; 0: no bound */
double effort_case(const struct options *); /* s, of one trial; 0: no bound */
/* The fewest of a trial, but no more than its samples (`repeats`; 0: no fixed number). */
unsigned effort_allocations(const struct options *, unsigned repeats);
/* Batches of a trial in each of so many allocations: enough for an interval. */
unsigned effort_batches(unsigned allocations);

#endif
