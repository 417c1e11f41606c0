/* SPDX-License-Identifier: Apache-2.0 */
/* The trials of a group while they are measured in turn, so that drift affects all alike. */
#ifndef LOCUS_ALTERNATION_H
#define LOCUS_ALTERNATION_H

#include "harness/run/run.h"

struct alternation {
	struct run *run;
	struct series *series;
	unsigned n;
	unsigned recorded;    /* trials whose lines are in the record */
	unsigned repeats;     /* samples of each trial; 0: until the result is known */
	double began, end;    /* budget_now() at the start, and when the group's share is spent */
	double batch;	      /* s: target length of a batch */
	unsigned allocations; /* allocations among which the share is divided */
	unsigned round;	      /* sweeps taken, in all allocations */
	unsigned sweeps;      /* batches of each trial in an allocation, at least */
	double at;	      /* s from the start of the run to the start of the group */
	struct quarantine quarantine; /* earlier allocations of its trials */
};

/*
 * Opens the series of the trials, among n, that will be measured, with `share` s for all. On all
 * ranks. -1: no memory; to be closed in any case.
 */
int alternation_open(struct alternation *, struct run *, struct planned *, unsigned n,
		     double share);
/* The bytes of all its trials together. */
double alternation_bytes(const struct alternation *);
/* Closes the series from the n-th on, whose trials are left to a later group. */
void alternation_cut(struct alternation *, unsigned n);
void alternation_close(struct alternation *);

/*
 * Finds how much the allocations of trials like these scatter (base/statistics.h): from the group
 * or, if that is too small, from all trials of the benchmark measured in this run. To be called
 * again when there are new allocations.
 */
void alternation_find_typical(struct alternation *);
/*
 * Whether to stop after so many allocations: `left`: how many of the requested samples are still to
 * be taken; `any`: some trial had memory. STOPPED_NOT_RUN: another allocation follows.
 */
enum stopped alternation_stop(struct alternation *, unsigned allocations, unsigned left, bool any);
/* Why one trial stopped, given why its group did. */
enum stopped alternation_reason(const struct alternation *, const struct series *, enum stopped);

#endif
