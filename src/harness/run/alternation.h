/* SPDX-License-Identifier: Apache-2.0 */
/* The trials of a group while they are measured in turn, so that drift affects all alike. */
#ifndef LOCUS_ALTERNATION_H
#define LOCUS_ALTERNATION_H

#include "harness/record/record.h"
#include "harness/run/run.h"
#include "harness/sample/series.h"

struct alternation {
	struct run *run;
	struct series *series;
	unsigned n;
	unsigned told;	      /* trials whose lines are in the record */
	unsigned repeats;     /* samples of each trial; 0: until the result is known */
	double began, end;    /* budget_now() at the start, and when its share is spent */
	double batch;	      /* s: target length of a batch */
	unsigned allocations; /* among which the share is divided */
	unsigned round;	      /* sweeps taken, in all allocations */
	unsigned sweeps;      /* batches of each trial in an allocation, at least */
	double at;	      /* s from the start of the run to that of the group */
	struct quarantine quarantine;     /* earlier allocations of its trials */
};

/*
 * Opens the series of those of n trials that are to be measured, with `share` s for all. On all
 * ranks. -1: no memory; to be closed in any case.
 */
int alternation_open(struct alternation *, struct run *, struct planned *, unsigned n,
		     double share);
/* Of all its trials together. */
double alternation_bytes(const struct alternation *);
/* Closes the series from the n-th on, whose trials are left to a later group. */
void alternation_cut(struct alternation *, unsigned n);
void alternation_close(struct alternation *);

#endif
