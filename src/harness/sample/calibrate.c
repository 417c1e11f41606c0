/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>

#include "harness/sample/allocation.h"
#include "harness/sample/calibrate.h"
#include "harness/sample/roles.h"
#include "harness/sample/sample.h"
#include "harness/plan/tournament.h"
#include "base/statistics.h"
#include "kit/agree.h"
#include "machine/clock.h"

enum { MOST_PER_BATCH = 32, MOST_TURNS = 64 };

/* A sample of several workers lasts this many times the usual skew of their starts. */
#define SKEW_FACTOR 1000.0
/* ... with a deadline, this many times the work that is done after it. */
#define LATE_FACTOR 100.0
/*
 * ... but at most this many times the length that the benchmark aims at: a larger skew comes from
 * the scheduler, not from the barrier.
 */
#define LONGEST_FACTOR 20.0

/*
 * A sample this many times longer than its goal must be seen twice: a single one may be due to a
 * pause of the host.
 */
#define PAUSE_FACTOR 2

/*
 * Calibration repeats disturbed samples for at most this many times the length of one: some cores
 * are never quiet.
 */
#define RETRY_FACTOR 5
/* ... and no longer than this (s): a sample that takes seconds is always disturbed. */
#define RETRY_MOST 1.0

/* A sample of at least this share of its goal is long enough. */
#define LONG_ENOUGH 0.7

/* s that a sample is to last. Skew does not affect pairs: timing starts when both are there. */
static double goal_of(const struct series *s)
{
	const double aim = s->planned->sample;

	if (s->planned->trial.threads == 1 || s->pairs)
		return aim;
	return fmin(fmax(aim, SKEW_FACTOR * s->skew), LONGEST_FACTOR * aim);
}

/*
 * Work after the deadline (a last block, a late end) is part of the result, so it has to be a small
 * share of the sample.
 */
static double duration_of(const struct series *s, double goal, double wall)
{
	if (roles_until(s) != BY_DEADLINE)
		return wall;
	return fmin(fmax(goal, LATE_FACTOR * (wall - s->duration)),
		    LONGEST_FACTOR * s->planned->sample);
}

double calibrate_skew(double *skews, size_t n)
{
	statistics_sort(skews, n);
	return n ? statistics_quantile(skews, n, 0.5) : INFINITY;
}

/*
 * s of a sample in which all workers were there: one that begins late makes a sample with too
 * little work long, too. More workers than CPUs begin late because others work.
 */
static double length_of(const struct series *s, const struct sample *sample)
{
	return sample->wall - (s->planned->trial.oversubscribed ? 0 : sample->skew);
}

bool calibrate_ends(struct series *s, const struct sample *sample, bool *long_before)
{
	const double goal = goal_of(s), length = length_of(s, sample);

	if (!*long_before && length > PAUSE_FACTOR * goal && sample->wall < RETRY_MOST) {
		*long_before = true;
		return false;
	}
	if (length >= LONG_ENOUGH * goal)
		return true;
	*long_before = false;
	s->units = (uint64_t)ceil((double)s->units *
				  fmin(16, fmax(1.5, goal / fmax(sample->wall, 1e-9))));
	return false;
}

/* Increases the units until a sample is long enough, unless they are fixed. */
static void find_units(struct series *s, struct team *team, double began, double most)
{
	const double aim = s->planned->sample;
	const bool counted = roles_until(s) == BY_COUNT && !s->planned->needs.units;
	struct noise unused = { 0 };
	double spent = 0, skews[MOST_TURNS];
	bool long_before = false;

	for (int turn = 0; turn < MOST_TURNS && spent < most;) {
		struct sample sample = sample_take(s, team, &unused, sample_turn(s, 0), false);

		if (s->failure)
			return;
		spent = agree_most(s->planned->trial.ranks, clock_now() - began);
		if (sample.noisy && spent < fmin(RETRY_FACTOR * aim, RETRY_MOST))
			continue; /* a sample that was interrupted looks long enough, and is not */
		skews[turn++] = sample.skew;
		s->skew = calibrate_skew(skews, (size_t)turn);
		s->duration = duration_of(s, goal_of(s), sample.wall);
		if (!counted || calibrate_ends(s, &sample, &long_before))
			return;
	}
}

void calibrate(struct series *s, struct team *team, double batch, double most)
{
	const double began = clock_now();

	if (!roles_seat(s, team))
		return;
	s->duration = s->planned->sample;
	if (roles_until(s) == BY_COUNT)
		s->units = s->planned->needs.units ? s->planned->needs.units : 1;
	allocation_warm(s, team);
	if (!s->failure)
		find_units(s, team, began, most);
	if (s->pairs)
		s->per_batch = tournament_rounds(s->planned->trial.threads) * s->meetings;
	else
		s->per_batch = (unsigned)fmin(MOST_PER_BATCH,
					      fmax(1, round(batch / fmax(s->duration, 1e-6))));
	s->elapsed += clock_now() - began;
	allocation_failed(s, team);
}
