/* SPDX-License-Identifier: Apache-2.0 */
/* The amount of work in a sample (calibration), and batches of samples. */
#include <math.h>

#include "base/statistics.h"
#include "harness/plan/plan.h"
#include "harness/sample/reductions.h"
#include "harness/sample/reports.h"
#include "harness/sample/workers.h"
#include "harness/sample/series.h"
#include "kit/agree.h"
#include "machine/clock.h"
#include "machine/watchdog.h"

/* --- calibration --- */

enum { MOST_PER_BATCH = 32, MOST_TURNS = 64 };

/* A sample of several workers lasts this many times the usual skew of their starts. */
#define SKEW_FACTOR 1000.0
/* With a deadline, it also lasts this many times as long as the work after it takes. */
#define LATE_FACTOR 100.0
/*
 * For these two reasons it lasts at most this many times the benchmark's target length: a larger
 * skew comes from the scheduler, not from the barrier.
 */
#define LONGEST_FACTOR 20.0

/*
 * A sample this many times longer than its target must be seen twice: one alone may contain a pause
 * of the host.
 */
#define PAUSE_FACTOR 2

/*
 * Calibration repeats disturbed samples for at most this many times the length of one: some cores
 * are never quiet.
 */
#define RETRY_FACTOR 5
/* It does so for at most this time (s): a sample that takes seconds is always disturbed. */
#define RETRY_MOST 1.0

/* A sample of at least this share of its target is long enough. */
#define LONG_ENOUGH 0.7

/* Target length of a sample, s. Skew does not affect pairs: timing starts when both are there. */
static double goal_of(const struct series *s)
{
	const double aim = s->planned->sample;

	if (s->planned->trial.threads == 1 || s->pairs)
		return aim;
	return fmin(fmax(aim, SKEW_FACTOR * s->skew), LONGEST_FACTOR * aim);
}

/*
 * Work after the deadline (a last block, a late end) is part of the result, so it must be a small
 * share of the sample.
 */
static double duration_of(const struct series *s, double goal, double wall)
{
	if (roles_until(s->planned, 0) != BY_DEADLINE)
		return wall;
	return fmin(fmax(goal, LATE_FACTOR * (wall - s->duration)),
		    LONGEST_FACTOR * s->planned->sample);
}

double batch_usual_skew(double *skews, size_t n)
{
	statistics_sort(skews, n);
	return n ? statistics_quantile(skews, n, 0.5) : INFINITY;
}

/*
 * s of a sample with all workers present: a worker that begins late lengthens a sample, even if
 * that has too little work. If workers outnumber CPUs, they begin late because others work.
 */
static double length_of(const struct series *s, const struct sample *sample)
{
	return sample->wall - (s->planned->trial.oversubscribed ? 0 : sample->skew);
}

bool batch_calibration_ends(struct series *s, const struct sample *sample, bool *long_before)
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
	const bool counted = roles_until(s->planned, 0) == BY_COUNT && !s->planned->needs.units;
	struct noise unused = { 0 };
	double spent = 0, skews[MOST_TURNS];
	bool long_before = false;

	for (int turn = 0; turn < MOST_TURNS && spent < most;) {
		struct sample sample = sample_take(s, team, &unused, sample_turn(s, 0), false);

		if (s->evidence.failure)
			return;
		spent = agree_most(s->planned->trial.ranks, clock_now() - began);
		if (sample.noisy & SAMPLE_DISTURBED && spent < fmin(RETRY_FACTOR * aim, RETRY_MOST))
			continue; /* an interrupted sample seems long enough, and is not */
		skews[turn++] = sample.skew;
		s->skew = batch_usual_skew(skews, (size_t)turn);
		s->duration = duration_of(s, goal_of(s), sample.wall);
		if (!counted || batch_calibration_ends(s, &sample, &long_before))
			return;
	}
}

void batch_calibrate(struct series *s, struct team *team, double batch, double most)
{
	const double began = clock_now();

	if (!sample_seat(s, team))
		return;
	s->duration = s->planned->sample;
	if (roles_until(s->planned, 0) == BY_COUNT)
		s->units = s->planned->needs.units ? s->planned->needs.units : 1;
	allocation_warm(s, team);
	if (!s->evidence.failure)
		find_units(s, team, began, most);
	if (s->pairs)
		s->per_batch = tournament_rounds(s->planned->trial.threads) * s->task.meetings;
	else
		s->per_batch = (unsigned)fmin(MOST_PER_BATCH,
					      fmax(1, round(batch / fmax(s->duration, 1e-6))));
	s->elapsed += clock_now() - began;
	allocation_failed(s, team);
}

/* --- batches --- */

#define CHAIN 49152 /* links: about 16 us */

#define SAME 1.05 /* ratio of cycles: a core whose frequency changes by less keeps its cycle */

/* All workers measure their core's cycle at once, so that as many cores are busy as in samples. */
struct cycles {
	double of[1024];
};

static void time_cycle(void *argument, struct worker *w)
{
	struct cycles *c = argument;

	if (w->index < sizeof(c->of) / sizeof(*c->of))
		c->of[w->index] = clock_cycle(CHAIN);
}

static struct batch_cores core_cycles(struct team *team)
{
	struct cycles c;
	size_t n = team_threads(team);

	watchdog_away(TRIAL_MEASURING);
	team_run(team, time_cycle, &c);
	watchdog_back();
	n = n < sizeof(c.of) / sizeof(*c.of) ? n : sizeof(c.of) / sizeof(*c.of);
	statistics_sort(c.of, n);
	return (struct batch_cores){ c.of[0], statistics_quantile(c.of, n, 0.5), c.of[n - 1] };
}

double batch_cycle(struct batch_cores before, struct batch_cores after)
{
	const double least = fmin(before.least, after.least), most = fmax(before.most, after.most);

	return least > 0 && most <= SAME * least ? (before.median + after.median) / 2 : 0;
}

static struct batch *new_batch(struct samples *s)
{
	s->batch[s->batches] = (struct batch){ .first = s->n, .allocation = s->allocations - 1 };
	return &s->batch[s->batches++];
}

/*
 * LIKWID's region covers a whole batch, since a sample is short. So it includes the time between
 * samples; `marked` is the time in samples only.
 */
static void enter_region(struct series *s, struct team *team)
{
	if (s->task.markers)
		markers_begin(s->task.markers, team, s->task.region);
}

static void leave_region(struct series *s, struct team *team)
{
	if (s->task.markers)
		markers_end(s->task.markers, team, s->task.region);
}

static void keep(struct series *s, unsigned batch, const struct sample *sample)
{
	const struct trial *t = &s->planned->trial;

	tally_add(&s->tally, batch, sample->done, s->pairs ? 1 : roles_leading(t));
	s->samples.time[s->samples.n] = sample->time;
	s->samples.skews[s->samples.n] = sample->skew;
	s->samples.noisy[s->samples.n] = (unsigned char)sample->noisy;
	throughput_keep(s->throughput, t, sample, s->samples.n);
	reports_collect(s->reports, &s->samples, t, s->state, sample);
	s->marked += sample->wall;
	s->samples.n++;
	s->samples.batch[batch].samples++;
}

/* Measures some pairs once more, while no other worker runs. */
static void take_alone(struct series *s, struct team *team)
{
	struct noise unused = { 0 };

	for (unsigned i = 0; i < s->pairs->alone; i++)
		for (unsigned meeting = 0; meeting < s->task.meetings && !watchdog_signal();
		     meeting++) {
			struct turn turn = { s->pairs->alone_round[i], meeting,
					     s->pairs->alone_slot[i] };

			sample_take(s, team, &unused, turn, true);
		}
}

/*
 * Trials in between evicted this one's data from the caches, and so does starting counters. One
 * sample fills them again, unless needs.warm asks for more units.
 */
static void warm_again(struct series *s, struct team *team)
{
	struct noise unused = { 0 };

	if (s->planned->needs.warm > s->units)
		allocation_warm(s, team);
	else
		sample_take(s, team, &unused, sample_turn(s, 0), false);
}

static double median_without(const struct samples *s, const struct batch *b, unsigned causes)
{
	return statistics_quantile_without(s->time + b->first, s->noisy + b->first, causes,
					   b->samples, 0.5);
}

/* A batch of pairs has an estimate only if `whole`: all its samples were taken. */
static void estimate(struct series *s, struct team *team, struct batch *b, bool whole)
{
	if (s->pairs) {
		const double mean = pairs_batch(s->pairs);

		take_alone(s, team);
		b->estimate = b->clean = b->quiet = whole ? mean : NAN;
	} else {
		b->estimate = median_without(&s->samples, b, 0);
		b->clean = median_without(&s->samples, b, SAMPLE_DISTURBED);
		b->quiet = median_without(&s->samples, b, SAMPLE_DISTURBED | SAMPLE_CROWDED);
	}
}

bool batch_take(struct series *s, struct team *team, unsigned samples, bool warm)
{
	const struct planned *p = s->planned;
	struct others others;
	double began = clock_now();
	struct batch_cores before;
	struct batch *b;
	unsigned number;

	if (!sample_seat(s, team) || agree_any(p->trial.ranks, !series_room(s, samples)))
		return false;
	b = new_batch(&s->samples);
	number = s->samples.batches - 1;
	tally_begin(&s->tally, team, number);
	before = core_cycles(team);
	if (warm)
		warm_again(s, team);
	else if (s->cold)
		allocation_warm(s, team);
	s->cold = false;
	neighbours_ready(&s->evidence.neighbours);
	enter_region(s, team);
	others_begin(&others, (struct cpu_time_set){ .cpu = p->cpu, .cpus = p->cpus },
		     (struct cpu_time_set){ .cpu = s->evidence.neighbours.cpu,
					    .cpus = s->evidence.neighbours.cpus });
	/* A tournament may take seconds: a signal ends it, and then the batch has no estimate. */
	for (unsigned i = 0; i < samples && !(s->pairs && watchdog_signal()); i++) {
		struct sample sample =
			sample_take(s, team, &s->evidence.noise, sample_turn(s, i), true);

		if (s->evidence.failure)
			break;
		keep(s, number, &sample);
	}
	b->rested = others_end(&others, &s->evidence.noise);
	leave_region(s, team);
	tally_end(&s->tally, team, number);
	b->cycle = batch_cycle(before, core_cycles(team));
	b->look = neighbours_look(&s->evidence.neighbours);
	estimate(s, team, b, b->samples == samples);
	s->elapsed += clock_now() - began;
	return !allocation_failed(s, team);
}
