/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>

#include "harness/run/samples_told.h"
#include "harness/run/stop.h"
#include "harness/run/sweeps.h"

/* Shorter samples than this (s) need a warm-up: other trials have evicted their caches. */
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
 * Opens an allocation of each series; after the first, only until `enough`. *reached: the first
 * that was not tried. True if one was opened.
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
 * The first allocation. When touching memory has taken half of the group's time, the trials that
 * have memory by then are measured, and the others are left to a later group.
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
		a->run->hand = a->series[i].planned;
		samples_told_rest(a->run, &a->series[i]); /* checking may take long */
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
	samples_told_add(r, s, began);
	samples_told_late(r, a->series, a->n);
}

/* Takes a batch of every trial, in random order. False: there was none to take. */
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
 * All sweeps of one allocation: the least number, and as many more as end before `until`, if each
 * takes as long as the last.
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

enum stopped sweeps_measure(struct alternation *a)
{
	unsigned left = a->repeats, reached;

	for (unsigned i = 0;; i++) {
		const double began = budget_now(&a->run->budget),
			     slice = (a->end - began) / fmax(1, (double)a->allocations - i);
		enum stopped stopped;
		bool any;

		if (a->repeats) /* those left, divided among the allocations left */
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
		stopped = stop_after(a, i + 1, left, any);
		if (stopped != STOPPED_NOT_RUN)
			return stopped;
	}
}
