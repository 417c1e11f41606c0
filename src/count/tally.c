/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "count/counters.h"
#include "count/tally.h"
#include "kit/agree.h"

static void note_pass(struct tally *t, unsigned pass)
{
	for (unsigned i = 0; i < t->passes; i++)
		if (t->pass[i] == pass)
			return;
	t->pass[t->passes++] = pass;
}

static bool is_duty(const struct tally *t, unsigned i, unsigned worker)
{
	return t->duty[(size_t)t->event[i] * t->trial->threads + worker];
}

bool tally_open(struct tally *t, struct counting *c, const struct trial *trial)
{
	const struct ranks *ranks = trial->ranks;
	const unsigned threads = trial->threads;

	*t = (struct tally){ .counting = c, .trial = trial, .workers = threads };
	if (!c)
		return true;
	t->duty = counters_duties(c->counters, trial->place, threads, rank_of(ranks),
				  ranks ? ranks->most_host : NULL);
	t->event = calloc(c->events.n + 1, sizeof(*t->event));
	t->pass = calloc(c->events.n + 1, sizeof(*t->pass));
	t->why = calloc(c->events.n + 1, sizeof(*t->why));
	t->sample = calloc(c->events.n + 1, sizeof(*t->sample));
	t->of_worker = calloc((size_t)c->events.n * threads + 1, sizeof(*t->of_worker));
	t->of_batch = calloc((size_t)c->events.n * threads + 1, sizeof(*t->of_batch));
	if (!t->duty || !t->event || !t->pass || !t->why || !t->sample || !t->of_worker ||
	    !t->of_batch)
		return false;
	for (unsigned i = 0; i < c->events.n; i++) {
		if (!wishes_mean(&c->wishes, i, trial->benchmark))
			continue;
		t->event[t->events++] = i;
		if (!c->events.of[i].why)
			note_pass(t, counters_event(c->counters, i)->pass);
	}
	for (unsigned i = 0; i < t->events; i++)
		for (unsigned w = 0; w < threads; w++)
			t->of_worker[(size_t)i * threads + w] = is_duty(t, i, w) ? 0 : NAN;
	return true;
}

void tally_close(struct tally *t)
{
	for (unsigned i = 0; i < t->events; i++)
		free(t->why[i]);
	free(t->duty);
	free(t->event);
	free(t->pass);
	free(t->why);
	free(t->sample);
	free(t->of_worker);
	free(t->of_batch);
	free(t->sum);
}

bool tally_room(struct tally *t, unsigned batches)
{
	const unsigned room = t->room ? 2 * t->room : 64;
	struct count_sum *grown;

	if (!t->events || batches <= t->room)
		return true;
	grown = realloc(t->sum, (size_t)room * t->events * sizeof(*grown));
	if (!grown)
		return false;
	memset(grown + (size_t)t->room * t->events, 0,
	       (size_t)(room - t->room) * t->events * sizeof(*grown));
	t->sum = grown;
	t->room = room;
	return true;
}

/* The run's index of the batch's pass; -1: it counts nothing. */
static int pass_of(const struct tally *t, unsigned batch)
{
	const unsigned turn = batch % (t->passes + 1);

	return turn < t->passes ? (int)t->pass[turn] : -1;
}

bool tally_counts(const struct tally *t, unsigned batch)
{
	return batch % (t->passes + 1) < t->passes;
}

bool tally_counts_event(const struct tally *t, unsigned batch, unsigned event)
{
	const unsigned number = t->event[event];

	return !t->counting->events.of[number].why &&
	       (int)counters_event(t->counting->counters, number)->pass == pass_of(t, batch);
}

void tally_begin(struct tally *t, struct team *team, unsigned batch)
{
	if (!tally_counts(t, batch))
		return;
	memset(t->of_batch, 0, (size_t)t->events * t->trial->threads * sizeof(*t->of_batch));
	counters_start(t->counting->counters, team, (unsigned)pass_of(t, batch), t->duty);
}

/*
 * The event's count in the sample, over this rank's workers. NAN: an assigned worker did not count
 * throughout.
 */
static double count_of_all(const struct tally *t, unsigned i)
{
	double sum = 0;

	for (unsigned w = 0; w < t->trial->threads; w++)
		sum += is_duty(t, i, w) ? counters_value(t->counting->counters, w, t->event[i]) : 0;
	return sum;
}

/*
 * With unit.parts, a unit is the work of all ranks together, and each rank counts every unit: the
 * sum over ranks contains each unit this many times.
 */
static double ranks_that_count(const struct tally *t)
{
	return t->trial->benchmark->unit.parts ? ranks_of(t->trial->ranks) : 1;
}

void tally_add(struct tally *t, unsigned batch, double done, unsigned workers)
{
	const double units = t->trial->benchmark->unit.parts ? done / workers : done;
	const unsigned threads = t->trial->threads;

	t->done += units;
	if (!tally_counts(t, batch))
		return;
	for (unsigned i = 0; i < t->events; i++)
		t->sample[i] = tally_counts_event(t, batch, i) ? count_of_all(t, i) : NAN;
	t->sample[t->events] = units;
	agree_sum(t->trial->ranks, t->sample, t->events + 1);
	for (unsigned i = 0; i < t->events; i++) {
		struct count_sum *sum = &t->sum[(size_t)batch * t->events + i];

		if (!isfinite(t->sample[i]))
			continue;
		sum->count += t->sample[i];
		sum->units += t->sample[t->events] / ranks_that_count(t);
		sum->samples++;
		for (unsigned w = 0; w < threads; w++)
			if (is_duty(t, i, w))
				t->of_batch[(size_t)i * threads + w] +=
					counters_value(t->counting->counters, w, t->event[i]);
	}
}

/* Whether any worker of any rank has a negative (extrapolated) count for the batch. */
static bool is_negative(const struct tally *t, unsigned i)
{
	bool any = false;

	for (unsigned w = 0; w < t->trial->threads; w++)
		any |= t->of_batch[(size_t)i * t->trial->threads + w] < 0;
	return agree_any(t->trial->ranks, any);
}

/*
 * Notes why a batch has no count of an event, as all ranks agree. `why` NULL: the event was
 * started, but counted in no sample.
 */
static void explain(struct tally *t, unsigned i, const char *why)
{
	free(t->why[i]);
	t->why[i] = why ? strdup(why) : NULL;
	agree_words(t->trial->ranks, &t->why[i]);
	if (!t->why[i])
		t->why[i] = strdup(
			t->counting->asked.multiplex
				? "it got no turn in any sample: make samples longer (--duration), "
				  "ask for fewer events, or drop --multiplex"
				: "no sample was counted throughout: something else takes the "
				  "processor's counters (the NMI watchdog takes one: sysctl "
				  "kernel.nmi_watchdog=0)");
}

static const char *why_negative(const struct tally *t)
{
	return t->counting->asked.multiplex
		       ? "its extrapolated count is negative: make samples longer (--duration), or "
			 "drop --multiplex"
		       : "its count is negative: its counter runs backwards, or another process "
			 "sets it (pgrep -a 'perf|likwid|papi|pmda')";
}

/* Ends a batch that was due to count the event. */
static void finish_batch(struct tally *t, unsigned i, struct count_sum *sum)
{
	const unsigned threads = t->trial->threads;
	const bool negative = is_negative(t, i);

	if (negative)
		*sum = (struct count_sum){ 0 };
	for (unsigned w = 0; w < threads && sum->samples; w++)
		t->of_worker[(size_t)i * threads + w] += t->of_batch[(size_t)i * threads + w];
	if (!sum->samples)
		explain(t, i,
			negative ? why_negative(t)
				 : counters_failure(t->counting->counters, t->event[i]));
	counting_learn(t->counting, sum->samples, t->why[i]);
}

void tally_end(struct tally *t, struct team *team, unsigned batch)
{
	if (!tally_counts(t, batch))
		return;
	counters_stop(t->counting->counters, team);
	for (unsigned i = 0; i < t->events; i++)
		if (tally_counts_event(t, batch, i))
			finish_batch(t, i, &t->sum[(size_t)batch * t->events + i]);
}

/*
 * Extends of_worker to the workers of all ranks: sums arrays in which each rank fills its own part
 * and has zeros elsewhere. Out of memory, of_worker keeps this rank's workers only.
 */
static void gather_workers(struct tally *t)
{
	const unsigned threads = t->trial->threads, rank = t->trial->ranks->rank,
		       all = threads * t->trial->ranks->ranks;
	double *wide = calloc((size_t)t->events * all + 1, sizeof(*wide));

	if (agree_any(t->trial->ranks, !wide)) {
		free(wide);
		return;
	}
	for (unsigned i = 0; i < t->events && wide; i++) {
		memcpy(wide + (size_t)i * all + (size_t)rank * threads,
		       t->of_worker + (size_t)i * threads, threads * sizeof(*wide));
		agree_sum(t->trial->ranks, wide + (size_t)i * all, all);
	}
	free(t->of_worker);
	t->of_worker = wide;
	t->workers = all;
}

void tally_gather(struct tally *t)
{
	const struct ranks *ranks = t->trial->ranks;

	if (!ranks)
		return;
	agree_sum(ranks, &t->done, 1);
	t->done /= ranks_that_count(t);
	gather_workers(t);
}

const struct count_sum *tally_sum(const struct tally *t, unsigned batch, unsigned event)
{
	return &t->sum[(size_t)batch * t->events + event];
}

const char *tally_name(const struct tally *t, unsigned event)
{
	return t->counting->events.of[t->event[event]].name;
}

double tally_amount(const struct tally *t)
{
	double (*const amount)(const struct trial *) = t->trial->benchmark->unit.parts;

	return amount ? amount(t->trial) : 1;
}
