/* SPDX-License-Identifier: Apache-2.0 */
/* Measuring: benchmark after benchmark, group after group, and the trials of a group in turn. */
#include <math.h>
#include <stdlib.h>

#include "base/message.h"
#include "harness/plan/plan.h"
#include "harness/run/alternation.h"

/* Samples shorter than this (s) need a warm-up: other trials have evicted their data. */
#define SHORT 0.02

/* SplitMix64 (Steele, Lea and Flood 2014). */
static uint64_t next_random(uint64_t *state)
{
	uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
	return z ^ (z >> 31);
}

/* A random order of n things (Fisher and Yates 1938). */
static void shuffle(unsigned *order, unsigned n, uint64_t *state)
{
	for (unsigned i = 0; i < n; i++)
		order[i] = i;
	for (unsigned i = n; i > 1; i--) {
		unsigned j = (unsigned)(next_random(state) % i), spare = order[i - 1];

		order[i - 1] = order[j];
		order[j] = spare;
	}
}

/*
 * Opens an allocation of each series; after the first one only until `enough`. *reached: the first
 * series that was not tried. True if one was opened.
 */
static bool allocate(struct alternation *a, double enough, unsigned *reached)
{
	struct run *r = a->run;
	bool any = false;

	for (*reached = 0; *reached < a->n && !run_ended(r); ++*reached) {
		struct series *s = &a->series[*reached];

		if (budget_now(&r->budget) >=
		    (any ? fmin(enough, r->budget.until) : budget_limit(&r->budget)))
			break;
		run_turn_to(r, s->planned);
		any |= allocation_open(s, r->team);
	}
	return any;
}

/*
 * The first allocation. When touching memory has taken half of the group's time, trials with memory
 * are measured, and the others are left to a later group.
 */
static bool allocate_first(struct alternation *a)
{
	const struct budget *b = &a->run->budget;
	const double began = budget_now(b);
	unsigned reached;
	bool any =
		allocate(a, isfinite(b->until) ? began + (a->end - began) / 2 : INFINITY, &reached);

	if (any && !run_ended(a->run))
		alternation_cut(a, reached);
	return any;
}

static void release(struct alternation *a)
{
	for (unsigned i = 0; i < a->n; i++) {
		run_take(a->run, a->series[i].planned);
		results_write_batches(a->run, &a->series[i]); /* checking may take long */
		allocation_close(&a->series[i], a->run->team);
	}
}

static void calibrate_all(struct alternation *a)
{
	struct run *r = a->run;

	for (unsigned i = 0; i < a->n && !run_ended(r); i++) {
		struct series *s = &a->series[i];

		if (!s->ready)
			continue;
		run_turn_to(r, s->planned);
		batch_calibrate(s, r->team, a->batch,
				(i ? r->budget.until : budget_limit(&r->budget)) -
					budget_now(&r->budget));
	}
}

/* Takes a batch of a trial. */
static void take(struct alternation *a, struct series *s)
{
	const unsigned samples = a->repeats && !s->pairs ? 1 : s->per_batch,
		       before = s->samples.batches;
	struct run *r = a->run;
	double began;
	bool good;

	run_turn_to(r, s->planned);
	began = budget_elapsed(&r->budget);
	good = batch_take(s, r->team, samples, (a->n > 1 || r->counting) && s->duration < SHORT);
	if (s->samples.batches > before)
		s->samples.batch[before].round = a->round;
	if (!good)
		return;
	s->from = before ? s->from : began;
	s->to = budget_elapsed(&r->budget);
	r->budget.measured = true;
	results_add_batch(r, s, began);
	results_write_late(r, a->series, a->n);
}

/* Takes a batch of every trial, in random order. False: no trial could take one. */
static bool sweep(struct alternation *a)
{
	const unsigned n = a->n;
	struct run *r = a->run;
	unsigned order[n];
	bool any = false;

	shuffle(order, n, &r->random);
	for (unsigned i = 0;
	     i < n && !run_ended(r) && budget_now(&r->budget) < budget_limit(&r->budget); i++) {
		struct series *s = &a->series[order[i]];

		if (!s->ready || !budget_fits(&r->budget, s->duration))
			continue;
		any = true;
		take(a, s);
	}
	a->round++;
	return any;
}

/*
 * All sweeps of one allocation: the required number, then more while another sweep as long as the
 * last would end before `until`.
 */
static void sweep_all(struct alternation *a, double until)
{
	struct run *r = a->run;
	const struct budget *b = &r->budget;
	double began = budget_now(b), last = 0;

	for (unsigned i = 0; !run_ended(r) && budget_now(b) < budget_limit(b); i++) {
		const double now = budget_now(b);

		last = now - began;
		began = now;
		if (i >= a->sweeps && (a->repeats || now + last > until))
			break;
		if (i && now >= a->end && isfinite(b->until))
			break; /* the rest of the budget belongs to other trials */
		if (!sweep(a))
			break;
	}
}

/*
 * Measures trials in turn: allocation after allocation of all of them, and in each, sweep after
 * sweep, until alternation_stop() gives a reason, which is returned. If touching memory takes too
 * long, series that have none by then are cut off (alternation_cut()).
 */
static enum stopped measure_in_turn(struct alternation *a)
{
	unsigned left = a->repeats, reached;

	for (unsigned i = 0;; i++) {
		const double began = budget_now(&a->run->budget),
			     slice = (a->end - began) / fmax(1, (double)a->allocations - i);
		enum stopped stopped;
		bool any;

		if (a->repeats) /* samples left, divided among the allocations left */
			a->sweeps = (left + a->allocations - i - 1) / (a->allocations - i);
		any = i ? allocate(a, INFINITY, &reached) : allocate_first(a);
		if (i == 0)
			calibrate_all(a);
		if (i == 0 && any)
			budget_prepared(&a->run->budget, alternation_bytes(a),
					budget_now(&a->run->budget) - began);
		if (any)
			sweep_all(a, began + slice);
		release(a);
		left -= a->repeats ? a->sweeps : 0;
		stopped = alternation_stop(a, i + 1, left, any);
		if (stopped != STOPPED_NOT_RUN)
			return stopped;
	}
}

static bool has_time(const struct run *r, const struct alternation *a)
{
	return budget_now(&r->budget) < budget_limit(&r->budget) &&
	       budget_affords(&r->budget, alternation_bytes(a));
}

/*
 * Measures n trials in turn, except trials that are complete in a resumed file. Returns how many of
 * the n it took: if touching memory took too long, the rest becomes a separate group.
 */
static unsigned measure_group(struct run *r, struct planned *p, unsigned n, double share)
{
	enum stopped stopped = STOPPED_SIGNAL;
	struct alternation a;
	unsigned opened, taken = n;

	if (alternation_open(&a, r, p, n, share)) {
		r->trial_at += n;
		message_own("no memory for a group of %u trials: choose fewer values", n);
		r->count[STATUS_FAILED] += n;
		alternation_close(&a);
		return n;
	}
	r->group = &a;
	r->trial_at += n;
	opened = a.n;
	if (a.n && !run_ended(r))
		stopped = has_time(r, &a) ? measure_in_turn(&a) : STOPPED_BUDGET;
	if (a.n < opened)
		taken = (unsigned)(a.series[a.n].planned - p);
	results_write_all(&a, stopped);
	r->group = NULL;
	r->trial_at -= n - taken;
	alternation_close(&a);
	return taken;
}

static unsigned group_size(const struct planned *first, unsigned left)
{
	unsigned n = 1;

	while (n < left && first[n].group == first->group)
		n++;
	return n;
}

static void measure_plan(struct run *r)
{
	struct plan *plan = &r->plans.plan[r->plan_at];
	double left = budget_weigh(plan->trial, plan->trials);

	results_begin(r);
	for (unsigned i = 0, taken; i < plan->trials; i += taken) {
		struct planned *first = &plan->trial[i];
		const unsigned n = group_size(first, plan->trials - i);

		taken = measure_group(r, first, n,
				      budget_share(&r->budget, effort_case(r->options),
						   budget_weigh(first, n), left, n));
		left -= budget_weigh(first, taken);
		for (unsigned j = taken; j < n; j++)
			first[j].group = plan->groups;
		plan->groups += taken < n;
	}
}

void measure_plans(struct run *r)
{
	const struct plans *p = &r->plans;
	double preparing, others = 0;

	for (unsigned i = 0; i < p->plans; i++)
		others += budget_preparing(p->plan[i].trial, p->plan[i].trials);
	for (unsigned i = 0; i < p->plans; i++) {
		preparing = budget_preparing(p->plan[i].trial, p->plan[i].trials);
		others -= preparing;
		budget_divide(&r->budget, p->plans - 1 - i, preparing, fmax(0, others));
		r->plan_at = i;
		measure_plan(r);
	}
}
