/* SPDX-License-Identifier: Apache-2.0 */
/* How long and how often a run measures: as the user says, or else as its profile does. */
#ifndef LOCUS_EFFORT_H
#define LOCUS_EFFORT_H

#include "harness/ask/options.h"

double effort_time(const struct options *); /* s, of the whole command; 0: no bound */
double effort_case(const struct options *); /* s, of one trial; 0: no bound */
/* The fewest allocations of a trial; at most its samples (`repeats`; 0: no fixed number). */
unsigned effort_allocations(const struct options *, unsigned repeats);
/* The fewest batches in each of so many allocations: enough for an interval over all of them. */
unsigned effort_batches(unsigned allocations);

#endif
