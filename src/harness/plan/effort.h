/* SPDX-License-Identifier: Apache-2.0 */
/* How long and how often a run measures: as the user says, or else as its profile does. */
#ifndef LOCUS_EFFORT_H
#define LOCUS_EFFORT_H

#include "harness/ask/options.h"

double effort_time(const struct options *); /* s, of the whole command; 0: no bound */
double effort_case(const struct options *); /* s, of one trial; 0: no bound */
/* A trial has converged if its interval reaches at most this share of the value. */
double effort_within(const struct options *);
/* How many allocations a trial of so many seconds is to have: a look (base/statistics.h). */
unsigned effort_allocations(double seconds);
/* The most that a trial of so many repeats (0: until its result is known) may have. */
unsigned effort_most_allocations(unsigned repeats);

#endif
