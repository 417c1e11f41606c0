/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The trials left to measure (--resume), and how the run's time is shared among them. Times are s
 * since the run began; decisions follow the latest of the ranks' clocks. INFINITY: no bound.
 */
#ifndef LOCUS_BUDGET_H
#define LOCUS_BUDGET_H

#include "count/counting.h"
#include "harness/plan/plan.h"
#include "harness/record/record.h"

/* --- resume.c: which trials are complete in the record, and which are measured again --- */

/*
 * Marks the complete trials, and reports on stderr how many of them lack a counter that is
 * requested now. On all ranks. Returns how many need not be measured.
 */
unsigned resume_mark(struct plans *, const struct record *, const struct counting *,
		     const struct ranks *, const char *output);
/* Whether a trial is to be measured. */
bool resume_wants(const struct planned *);
/* Whether one of n trials is not complete yet. */
bool resume_left(const struct planned *, unsigned n);

/* --- budget.c --- */

struct budget {
	const struct ranks *ranks;
	double began;	 /* clock_now() */
	double deadline; /* of the run */
	double until;	 /* end of the current benchmark's share */
	double last;	 /* when the watchdog ends the run */
	bool measured;	 /* some trial has a batch */
	/* for the current benchmark: bytes of the largest group so far, and s to prepare it */
	double largest, took;
};

/* `time`: s for the whole run; 0: no bound. */
void budget_begin(struct budget *, const struct ranks *, double time);
double budget_elapsed(const struct budget *); /* by this rank's clock */
double budget_now(const struct budget *);
/*
 * The time from which nothing new is begun: the end of the benchmark's share; before the first
 * batch, the watchdog's deadline. So each resumed run makes progress, however small its budget and
 * slow the machine.
 */
double budget_limit(const struct budget *);
/* False if work of this duration (s) would be cut off by the watchdog. */
bool budget_fits(const struct budget *, double duration);

/*
 * Whether a group of so many bytes can be prepared before the benchmark's share ends. A group
 * larger than all before takes longer in proportion; any other is known to be affordable.
 */
bool budget_affords(const struct budget *, double bytes);
/* Notes how long a group took to prepare, for budget_affords(). */
void budget_prepared(struct budget *, double bytes, double took);

/*
 * Gives the next benchmark its share of the time left; `left` more come after it. Each gets the
 * time for preparing its memory once (budget_preparing(), s), and an equal part of the rest; at
 * least half of the time is divided equally. `others`: s for preparing the memory of those after
 * it.
 */
void budget_divide(struct budget *, unsigned left, double preparing, double others);
/* The time (s) for preparing the memory of n trials once, on an ordinary machine. */
double budget_preparing(const struct planned *, unsigned n);
/*
 * The time that n trials need, relative to others: measuring takes equally long for each, touching
 * memory takes longer for more memory. It grows with the logarithm of their memory, so that a few
 * large trials leave enough to many small ones; from LARGE on, in proportion, as preparing does.
 */
double budget_weigh(const struct planned *, unsigned n);
/*
 * s that n trials of this weight may take. `left`: the weight of all trials that are left of the
 * current benchmark, these included; `one`: s that a trial may take; 0: no bound.
 */
double budget_share(const struct budget *, double one, double weight, double left, unsigned n);

#endif
