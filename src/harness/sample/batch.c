/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>

#include "harness/sample/allocation.h"
#include "harness/sample/batch.h"
#include "harness/sample/reports.h"
#include "harness/sample/roles.h"
#include "harness/sample/sample.h"
#include "base/statistics.h"
#include "harness/sample/throughput.h"
#include "harness/sample/storage.h"
#include "kit/agree.h"
#include "machine/clock.h"
#include "machine/watchdog.h"

#define CHAIN 49152 /* links: about 16 us */

#define SAME 1.05 /* cycles: a core whose frequency changes by less keeps it */

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

	watchdog_away(SERIES_MEASURING);
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

static struct batch *new_batch(struct series *s)
{
	s->batch[s->batches] =
		(struct batch){ .first = s->samples, .allocation = s->allocations - 1 };
	return &s->batch[s->batches++];
}

/*
 * LIKWID's region covers a whole batch, since a sample is short. So it includes the time between
 * samples; `marked` is the time in samples only.
 */
static void enter_region(struct series *s, struct team *team)
{
	if (s->markers)
		markers_begin(s->markers, team, s->region);
}

static void leave_region(struct series *s, struct team *team)
{
	if (s->markers)
		markers_end(s->markers, team, s->region);
}

static void keep(struct series *s, unsigned batch, const struct sample *sample)
{
	tally_add(&s->tally, batch, sample->done, s->pairs ? 1 : roles_leading(&s->planned->trial));
	s->time[s->samples] = sample->time;
	s->skews[s->samples] = sample->skew;
	s->noisy[s->samples] = sample->noisy;
	throughput_keep(s, sample);
	reports_collect(s, sample);
	s->marked += sample->wall;
	s->samples++;
	s->batch[batch].samples++;
}

/* Measures some pairs once more, while no other worker runs. */
static void take_alone(struct series *s, struct team *team)
{
	struct noise unused = { 0 };

	for (unsigned i = 0; i < s->pairs->alone; i++)
		for (unsigned meeting = 0; meeting < s->meetings && !watchdog_signal(); meeting++) {
			struct turn turn = { s->pairs->alone_round[i], meeting,
					     s->pairs->alone_slot[i] };

			sample_take(s, team, &unused, turn, true);
		}
}

/*
 * Trials in between evicted this one's data from the caches; starting counters does, too. A sample
 * fills them again, unless that takes more units.
 */
static void warm_again(struct series *s, struct team *team)
{
	struct noise unused = { 0 };

	if (s->planned->needs.warm > s->units)
		allocation_warm(s, team);
	else
		sample_take(s, team, &unused, sample_turn(s, 0), false);
}

static double batch_quantile(const struct series *s, const struct batch *b, bool clean)
{
	return statistics_quantile_known(s->time + b->first, clean ? s->noisy + b->first : NULL,
					 b->samples, 0.5);
}

/* A batch of pairs has an estimate only if `whole`: all its samples were taken. */
static void estimate(struct series *s, struct team *team, struct batch *b, bool whole)
{
	if (s->pairs) {
		const double mean = pairs_batch(s->pairs);

		take_alone(s, team);
		b->estimate = b->clean = whole ? mean : NAN;
	} else {
		b->estimate = batch_quantile(s, b, false);
		b->clean = batch_quantile(s, b, true);
	}
}

bool batch_take(struct series *s, struct team *team, unsigned samples, bool warm)
{
	const struct planned *p = s->planned;
	struct neighbours neighbours;
	double began = clock_now();
	struct batch_cores before;
	struct batch *b;
	unsigned number;

	if (!roles_seat(s, team) || agree_any(p->trial.ranks, !series_room(s, samples)))
		return false;
	b = new_batch(s);
	number = s->batches - 1;
	tally_begin(&s->tally, team, number);
	before = core_cycles(team);
	if (warm)
		warm_again(s, team);
	else if (s->cold)
		allocation_warm(s, team);
	s->cold = false;
	beside_ready(&s->beside);
	enter_region(s, team);
	neighbours_begin(&neighbours, (struct cpu_time_set){ .cpu = p->cpu, .cpus = p->cpus },
			 (struct cpu_time_set){ .cpu = s->beside.cpu, .cpus = s->beside.cpus });
	/* A tournament may take seconds: a signal ends it, and the batch has no estimate then. */
	for (unsigned i = 0; i < samples && !(s->pairs && watchdog_signal()); i++) {
		struct sample sample = sample_take(s, team, &s->noise, sample_turn(s, i), true);

		if (s->failure)
			break;
		keep(s, number, &sample);
	}
	b->rested = neighbours_end(&neighbours, &s->noise);
	leave_region(s, team);
	tally_end(&s->tally, team, number);
	b->cycle = batch_cycle(before, core_cycles(team));
	b->look = beside_look(&s->beside);
	estimate(s, team, b, b->samples == samples);
	s->elapsed += clock_now() - began;
	return !allocation_failed(s, team);
}
