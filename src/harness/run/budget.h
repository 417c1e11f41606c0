/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The time of a run, and who may have how much of it. Times are s since the run began; what is
 * decided by them is decided by the latest of the ranks' clocks. INFINITY: no bound.
 */
#ifndef LOCUS_BUDGET_H
#define LOCUS_BUDGET_H

#include "harness/plan/plan.h"

struct budget {
	const struct ranks *ranks;
	double began;	 /* clock_now() */
	double deadline; /* of the run */
	double until;	 /* of the benchmark at hand */
	double last;	 /* when the watchdog ends the run */
	bool measured;	 /* there is a batch of some trial */
};

/* `time`: s for the whole run; 0: no bound. */
void budget_begin(struct budget *, const struct ranks *, double time);
double budget_elapsed(const struct budget *); /* of this rank alone */
double budget_now(const struct budget *);
/*
 * Until when something may be begun. Until there is a batch that is as long as the watchdog waits,
 * so that each run that is resumed gets on, however small its budget and slow the machine.
 */
double budget_limit(const struct budget *);
/* False for what takes so long that the watchdog would cut it off. */
bool budget_fits(const struct budget *, double duration);

/* The next benchmark, behind which so many are left, may have its share of what is left. */
void budget_divide(struct budget *, unsigned left);
/*
 * What trials may take of the time, relative to others: measuring takes them all as long, touching
 * memory does not.
 */
double budget_weigh(const struct planned *, unsigned n);
/*
 * s that n trials of this weight may have, of all that are left of the benchmark at hand, whose
 * weight is `left`; `one`: s that a trial may have; 0: no bound.
 */
double budget_share(const struct budget *, double one, double weight, double left, unsigned n);

#endif
