/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "harness/run/alternation.h"
#include "harness/plan/plan.h"
#include "harness/run/resume.h"
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
	s->evidence.neighbours.quiet = r->quiet;
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

/* One batch; with counters one for each of their passes, and one without. */
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
	a->quarantine.room = plan_held(&r->setting, alternation_bytes(a));
	a->quarantine.each = plan_held_each(&r->setting);
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
