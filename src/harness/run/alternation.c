/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "harness/plan/plan.h"
#include "harness/run/alternation.h"
#include "kit/agree.h"
#include "machine/watchdog.h"

/*
 * s that a batch takes; less if the budget is too small for enough batches. Neighbouring samples
 * are correlated: batches should be less so.
 */
#define BATCH 0.02

/* Opens the series on all ranks, or on none. */
static bool all_open(struct series *s, struct planned *p, struct counting *counting)
{
	bool failed = series_open(s, p, counting);

	if (!agree_any(p->trial.ranks, failed))
		return true;
	if (!failed)
		series_close(s);
	return false;
}

static void open_series(struct alternation *a, struct planned *p)
{
	struct series *s = &a->series[a->n];
	struct run *r = a->run;

	if (!all_open(s, p, r->counting))
		return;
	s->task.overhead = r->clock.overhead;
	s->evidence.neighbours.undisturbed = r->undisturbed;
	s->task.within = effort_within(r->options);
	s->task.quarantine = &a->quarantine;
	s->task.conditions = &r->setting.conditions;
	if (regions_has(&r->regions, p)) {
		s->task.markers = r->regions.markers;
		s->task.region = p->region;
	}
	if (p->refusal)
		s->evidence.impossible = strdup(p->refusal);
	a->n++;
}

/* One batch; with counters, one batch for each pass, and one without. */
static unsigned least_sweeps(const struct alternation *a)
{
	unsigned sweeps = 1;

	for (unsigned i = 0; i < a->n; i++)
		sweeps = a->series[i].tally.passes >= sweeps ? a->series[i].tally.passes + 1
							     : sweeps;
	return sweeps;
}

double alternation_bytes(const struct alternation *a)
{
	double bytes = 0;

	for (unsigned i = 0; i < a->n; i++) {
		const struct planned *p = a->series[i].planned;

		bytes += !p || a->series[i].evidence.impossible ? 0 : (double)p->needs.bytes;
	}
	return bytes;
}

int alternation_open(struct alternation *a, struct run *r, struct planned *p, unsigned n,
		     double share)
{
	const bool left = resume_left(p, n);

	*a = (struct alternation){ .run = r,
				   .repeats = p->repeats,
				   .at = budget_elapsed(&r->budget),
				   .began = budget_now(&r->budget) };
	a->end = a->began + share;
	a->allocations =
		p->repeats ? effort_most_allocations(p->repeats) : effort_allocations(share / n);
	a->series = calloc(n, sizeof(*a->series));
	if (agree_any(r->ranks, !a->series) || !a->series)
		return -1;
	for (unsigned i = 0; i < n; i++) {
		r->skipped += p[i].again && !left;
		if (left ? resume_wants(&p[i]) : !p[i].done)
			open_series(a, &p[i]);
	}
	a->quarantine.room = plan_quarantine_room(&r->setting, alternation_bytes(a));
	a->quarantine.each = plan_quarantine_each(&r->setting);
	a->sweeps = least_sweeps(a);
	a->batch = fmin(BATCH, share / (2.0 * n * a->sweeps * a->allocations));
	return 0;
}

void alternation_cut(struct alternation *a, unsigned n)
{
	while (a->n > n)
		series_close(&a->series[--a->n]);
}

void alternation_close(struct alternation *a)
{
	watchdog_away("giving back the memory of");
	quarantine_free(&a->quarantine);
	watchdog_back();
	alternation_cut(a, 0);
	free(a->series);
}

/* --- the trials' scatter --- */

/* The typical scatter of this group's trials; keeps each trial's scatter for later groups. */
static double of_group(struct alternation *a)
{
	double *scatter = calloc(a->n + 1, sizeof(*scatter)), typical;

	if (!scatter)
		return 0;
	for (unsigned i = 0; i < a->n; i++) {
		scatter[i] = estimates_scatter(&a->series[i].samples);
		a->series[i].planned->scatter = isfinite(scatter[i]) ? scatter[i] : 0;
	}
	typical = estimate_typical(scatter, a->n);
	free(scatter);
	return typical;
}

/* The typical scatter of the trials that the benchmark has measured in this run. */
static double of_benchmark(const struct plan *plan)
{
	double *scatter = calloc(plan->trials + 1, sizeof(*scatter)), typical;

	if (!scatter)
		return 0;
	for (unsigned i = 0; i < plan->trials; i++)
		scatter[i] = plan->trial[i].scatter > 0 ? plan->trial[i].scatter : NAN;
	typical = estimate_typical(scatter, plan->trials);
	free(scatter);
	return typical;
}

void alternation_find_typical(struct alternation *a)
{
	double typical = of_group(a);

	if (!(typical > 0) && a->run->plans.plans)
		typical = of_benchmark(&a->run->plans.plan[a->run->plan_at]);
	for (unsigned i = 0; i < a->n; i++)
		a->series[i].samples.typical = typical;
}

/* --- when to stop --- */

/* Ranks have to agree on this: they have the same samples, but perhaps not the same libm. */
static bool converged(struct alternation *a)
{
	bool wanting = false;

	alternation_find_typical(a);
	for (unsigned i = 0; i < a->n && !wanting; i++)
		wanting = a->series[i].samples.batches && !series_converged(&a->series[i]);
	return !agree_any(a->run->ranks, wanting);
}

/*
 * The next look has twice as many allocations, which take as long again as the present ones, within
 * a tenth. Without time for them, a few more would be useless: intervals become narrower only at
 * looks.
 */
static bool has_time_to_double(const struct alternation *a, double now)
{
	return now + 0.9 * (now - a->began) < a->end;
}

/* Whether to stop, for a trial without a fixed number of samples. */
static enum stopped after_allocations(struct alternation *a, unsigned allocations)
{
	const double now = budget_now(&a->run->budget);

	if (!statistics_is_look(allocations))
		return now >= a->end && allocations < LEAST_VALUES ? STOPPED_BUDGET
								   : STOPPED_NOT_RUN;
	if (converged(a))
		return STOPPED_CONVERGED;
	return allocations >= a->allocations || !has_time_to_double(a, now) ? STOPPED_BUDGET
									    : STOPPED_NOT_RUN;
}

enum stopped alternation_stop(struct alternation *a, unsigned allocations, unsigned left, bool any)
{
	struct run *r = a->run;
	enum stopped stopped = STOPPED_NOT_RUN;

	if (run_ended(r))
		return STOPPED_SIGNAL;
	if (a->repeats && !left)
		return STOPPED_REPEATS;
	if (!a->repeats)
		stopped = after_allocations(a, allocations);
	if (stopped == STOPPED_NOT_RUN && (!any || budget_now(&r->budget) >= r->budget.until))
		return STOPPED_BUDGET;
	return stopped;
}

enum stopped alternation_reason(const struct alternation *a, const struct series *s,
				enum stopped stopped)
{
	if (stopped == STOPPED_REPEATS && s->samples.n < a->repeats)
		return STOPPED_BUDGET;
	if (stopped == STOPPED_BUDGET && !a->repeats && !s->ready && series_converged(s))
		return STOPPED_CONVERGED;
	return stopped;
}
