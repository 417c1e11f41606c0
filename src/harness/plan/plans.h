/* SPDX-License-Identifier: Apache-2.0 */
/* The plans of a run, one for each benchmark that has trials. */
#ifndef LOCUS_PLANS_H
#define LOCUS_PLANS_H

#include "harness/plan/plan.h"

struct plans {
	struct plan *plan;
	unsigned plans, trials;
};

/*
 * Plans options->benchmark, or every row of the table. 0, or the status to exit with after a
 * message.
 */
int plans_make(struct plans *, const struct benchmark *const *table, const struct options *,
	       const struct setting *);
void plans_free(struct plans *);

/* The n-th trial, counted over all plans; NULL after the last. */
struct planned *plans_trial(const struct plans *, unsigned n);
/* The most threads that a trial needs, one at least. */
unsigned plans_threads(const struct plans *);
/* s that the run will take: the time budget, or the sum over its trials. */
double plans_seconds(const struct plans *, const struct options *);
/*
 * What plans_seconds() is: "at most" with a time budget; "at least" if the length of some samples
 * is not known; else "about".
 */
const char *plans_bound(const struct plans *, const struct options *);

#endif
