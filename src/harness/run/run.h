/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A run while it goes on: what its parts share, and how far it is. The watchdog reads it when the
 * main thread does not come back in time (machine/watchdog.h: the books).
 */
#ifndef LOCUS_RUN_H
#define LOCUS_RUN_H

#include "harness/run/budget.h"
#include "harness/plan/plan.h"
#include "harness/run/progress.h"
#include "harness/record/record.h"
#include "harness/run/regions.h"
#include "harness/plan/setting.h"
#include "harness/run/table.h"
#include "harness/judge/verdict.h"
#include "count/counting.h"
#include "machine/clock.h"

struct alternation;

struct run {
	const struct options *options;
	const struct ranks *ranks; /* NULL: the run is not divided over ranks */
	struct setting setting;
	struct plans plans;
	struct budget budget;
	/* what it measures with */
	struct team *team;
	struct counting *counting; /* NULL: nothing was asked for */
	struct regions regions;
	struct clock_quality clock;
	double *quiet; /* s per line of memory, by CPU: see neighbours.h */
	uint64_t random; /* state of the generator that shuffles */
	/* where its results go */
	struct record *record;
	struct progress progress;
	struct table table;
	double seconds; /* s that it is estimated to take */
	/* how far it is */
	unsigned count[STATUSES], finished, skipped; /* trials */
	unsigned left;				     /* of the finished: not measured */
	int signal;				     /* that ends the run; 0: none */
	bool unwritable;			     /* the record is: this ends the run, too */
	bool headed;				     /* the record has its header */
	unsigned plan_at, trial_at;		     /* the first trial that was in no group yet */
	struct alternation *group;		     /* that is being measured; NULL: none */
	const struct planned *hand;		     /* the trial that was begun last; NULL: none */
};

/* The advice when time was too short. */
#define RUN_MORE "give more with --time-budget, or choose smaller sizes"

/*
 * Whether a signal, or a record that can't be written, ends the run. If so on one rank, then on all
 * of them.
 */
bool run_ended(struct run *);
/* Notes and shows which trial the main thread works on. */
void run_turn_to(struct run *, const struct planned *);
/* The status to exit with, as far as it is known. */
int run_status(const struct run *);

#endif
