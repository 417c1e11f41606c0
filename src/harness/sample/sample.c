/* SPDX-License-Identifier: Apache-2.0 */
/* One timed execution: workers take their seats, work, and are scored. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/statistics.h"
#include "base/text.h"
#include "harness/plan/plan.h"
#include "harness/sample/workers.h"
#include "harness/sample/series.h"
#include "kit/agree.h"
#include "kit/shares.h"
#include "machine/watchdog.h"

/* --- seats --- */

/* Threads that float are also pinned, while memory is prepared and first touched. */
static int take_seats(const struct series *s, struct team *team, unsigned *culprit)
{
	const struct planned *p = s->planned;
	const struct trial *t = &p->trial;
	hwloc_bitmap_t within;
	int status = -1;

	if (!t->floating || !s->ready)
		return team_seat(team, t->place, t->threads, culprit);
	*culprit = 0;
	within = hwloc_bitmap_alloc();
	for (unsigned i = 0; within && i < p->cpus; i++)
		hwloc_bitmap_set(within, (unsigned)p->cpu[i]);
	if (within)
		status = team_float(team, t->place, t->threads, within, culprit);
	hwloc_bitmap_free(within);
	return status;
}

/* The reason of sched_setaffinity(): EINVAL means a CPU that is offline or not in the cpuset. */
static const char *pinning_error(int error)
{
	return error == EINVAL	? "this process can't use it any more"
	       : error == EXDEV ? "it ran on another one"
				: strerror(error);
}

static void note_unpinned(struct series *s, unsigned culprit, int error)
{
	const struct trial *t = &s->planned->trial;
	char *cause = conditions_cause(s->task.conditions, CONDITIONS_CPUS);

	free(s->evidence.failure);
	s->evidence.failure =
		text_of("thread %u could not be pinned to CPU %d: sched_setaffinity: %s%s%s",
			culprit, culprit < t->threads ? t->place[culprit].cpu : -1,
			pinning_error(error), cause ? ": " : "", cause ? cause : "");
	free(cause);
}

static bool seat_here(struct series *s, struct team *team)
{
	const struct trial *t = &s->planned->trial;
	unsigned culprit;
	int failed;

	watchdog_away(TRIAL_PREPARING);
	failed = take_seats(s, team, &culprit);
	watchdog_back();
	if (failed) {
		note_unpinned(s, culprit, errno);
		return false;
	}
	for (unsigned i = 0; i < t->threads; i++)
		team_worker(team, i)->role = roles_number(t, i);
	return true;
}

bool sample_seat(struct series *s, struct team *team)
{
	bool seated = seat_here(s, team);

	agree_words(s->planned->trial.ranks, &s->evidence.failure);
	return seated && !s->evidence.failure;
}

/* --- scores --- */

/* A sample of pairs is noisy if more than this share of its pairs was disturbed. */
#define NOISY_PAIRS 0.1

/* The widest core of a worker; NULL: its core is not watched. */
static double *widest_of(const struct series *s, unsigned worker)
{
	const struct neighbours *b = &s->evidence.neighbours;
	struct undisturbed *u =
		b->apart ? neighbours_undisturbed(b, &s->planned->trial, worker) : NULL;

	return u ? &u->width : NULL;
}

/*
 * Times each pair from when both workers have begun until both are done; the sample is the median
 * of the pairs. Adds their noise, too. `keep`: the series keeps the pairs' times.
 */
static void score_pairs(struct series *s, struct team *team, struct turn turn, struct noise *noise,
			bool keep, struct sample *sample)
{
	const struct trial *t = &s->planned->trial;
	double *times = calloc(t->threads / 2 + 1, sizeof(*times));
	size_t n = 0, disturbed = 0;

	for (unsigned slot = 0, a, b; slot < tournament_slots(t->threads); slot++) {
		const struct attendance *one, *other;
		double time, units;

		if ((turn.slot != TURN_EVERY_SLOT && turn.slot != slot) ||
		    !tournament_pair(t->threads, turn.round, slot, &a, &b))
			continue;
		one = team_attendance(team, a);
		other = team_attendance(team, b);
		units = (double)team_worker(team, a)->done;
		time = fmax(one->end, other->end) - fmax(one->begin, other->begin);
		disturbed += (noise_witness(noise, one, t->place[a].cpu, widest_of(s, a)) |
			      noise_witness(noise, other, t->place[b].cpu, widest_of(s, b))) &
			     SAMPLE_DISTURBED;
		noise->wall += 2 * time;
		sample->wall = fmax(sample->wall, time);
		if (times && units > 0)
			times[n++] = time / units;
		if (keep && units > 0)
			pairs_add(s->pairs, a, b, time / units, turn.slot != TURN_EVERY_SLOT);
		s->did = team_worker(team, a)->done;
		sample->done += units;
	}
	statistics_sort(times, n);
	sample->time = n ? statistics_quantile(times, n, 0.5) : NAN;
	sample->noisy = (double)disturbed > NOISY_PAIRS * (double)n ? SAMPLE_DISTURBED : 0;
	free(times);
}

/* If there are more workers than CPUs, they never all run at once. */
static bool scored_together(const struct series *s)
{
	return s->planned->trial.benchmark->protocol.scored == TOGETHER &&
	       !s->planned->trial.oversubscribed;
}

/* Scores all workers together, and adds their disturbances to the noise. */
static void score_all(struct series *s, struct team *team, struct noise *noise,
		      struct sample *sample)
{
	const struct trial *t = &s->planned->trial;
	const unsigned lead = roles_leading(t);
	/* other roles begin before the first one, if that waits until it is ready */
	const unsigned begin = roles_ops(t)->ready ? lead : t->threads;
	double first = INFINITY, last = 0, late = 0, soon = INFINITY, end = 0, units = 0;

	for (unsigned i = 0; i < t->threads; i++) {
		const struct attendance *a = team_attendance(team, i);
		const struct worker *w = team_worker(team, i);

		sample->noisy |= noise_witness(noise, a, t->floating ? ANY_CPU : t->place[i].cpu,
					       widest_of(s, i));
		if (i < begin) {
			first = fmin(first, a->begin);
			late = fmax(late, a->begin);
		}
		last = fmax(last, a->end);
		if (i >= lead)
			continue;
		soon = fmin(soon, a->end);
		end = fmax(end, a->end);
		units += (double)(scored_together(s) ? w->together : w->done) / lead;
		sample->done += (double)w->done;
	}
	s->did = team_worker(team, 0)->done;
	sample->wall = (lead < t->threads ? end : last) - first;
	sample->time = (scored_together(s) ? soon - late : sample->wall) / units;
	if (!(units > 0) || !(sample->time > 0))
		sample->time = NAN;
	sample->skew = late - first;
	noise->wall += sample->wall * t->threads;
}

/* --- the work --- */

struct turn sample_turn(const struct series *s, unsigned i)
{
	const unsigned rounds = s->pairs ? tournament_rounds(s->planned->trial.threads) : 1;

	return (struct turn){ i % rounds, i / rounds, TURN_EVERY_SLOT };
}

/* Seats the pairs of a round at their slots. */
static void pair_up(struct series *s, struct team *team, struct turn turn)
{
	const unsigned players = s->planned->trial.threads;

	for (unsigned i = 0; i < players; i++)
		team_worker(team, i)->group = TEAM_IDLE;
	for (unsigned slot = 0, pair = 0, a, b; slot < tournament_slots(players); slot++) {
		/* a slot with one player is no pair */
		if (!tournament_pair(players, turn.round, slot, &a, &b))
			continue;
		for (unsigned i = 0; i < 2 && (turn.slot == TURN_EVERY_SLOT || turn.slot == slot);
		     i++) {
			struct worker *w = team_worker(team, i ? b : a);

			w->group = pair;
			w->meeting = turn.meeting;
			/* each of the two begins in half of their meetings */
			w->role = i ^ (turn.meeting & 1);
		}
		pair++; /* counted even if skipped: a pair alone keeps its number */
	}
}

static void work_in_pair(void *argument, struct worker *w)
{
	const struct series *s = argument;

	if (w->group != TEAM_IDLE)
		roles_ops(&s->planned->trial)->work(s->state, w);
}

/*
 * Makes the sample the same on all ranks: the time of the slowest rank, and the communication time
 * of the rank that spent least in calls of struct ranks. A failure on one rank fails all.
 */
static void agree_sample(const struct ranks *ranks, struct sample *s, char **failure)
{
	double x[] = { s->wall,		 isfinite(s->time) ? s->time : INFINITY,
		       s->skew,		 s->noisy,
		       -s->communicated, *failure != NULL };

	agree_largest(ranks, x, sizeof(x) / sizeof(*x));
	*s = (struct sample){ x[0],    isfinite(x[1]) ? x[1] : NAN,    x[2], -x[4],
			      s->done, x[3] > 0 ? SAMPLE_DISTURBED : 0 };
	if (x[5] > 0)
		agree_words(ranks, failure);
}

/* Keeps the reason of the first worker that could not do its work. */
static void note_failure(struct series *s, struct team *team)
{
	for (unsigned i = 0; i < s->planned->trial.threads && !s->evidence.failure; i++)
		if (team_worker(team, i)->failed)
			s->evidence.failure = strdup(team_worker(team, i)->failed);
}

/* Units for a worker; 0 if there are more workers than units. */
static uint64_t units_of(const struct series *s, const struct worker *w)
{
	const uint64_t units = s->warming ? 0 : s->planned->needs.units;

	if (roles_until(s->planned, s->pairs ? 0 : w->role) == BY_DEADLINE)
		return UINT64_MAX;
	return units ? share_size(units, w->index, roles_leading(&s->planned->trial)) : s->units;
}

struct sample sample_take(struct series *s, struct team *team, struct noise *noise,
			  struct turn turn, bool keep)
{
	const struct trial *t = &s->planned->trial;
	const struct ops *ops = roles_ops(t);
	const unsigned lead = roles_leading(t);
	const bool by_deadline = roles_until(s->planned, 0) == BY_DEADLINE;
	struct sample sample = { .communicated = NAN };
	double spent;

	watchdog_away(TRIAL_MEASURING);
	if (s->pairs)
		pair_up(s, team, turn);
	if (ops->reset)
		ops->reset(s->state);
	for (unsigned i = 0; i < t->threads; i++) {
		struct worker *w = team_worker(team, i);

		w->count = units_of(s, w);
		w->done = w->together = 0;
		w->failed = NULL;
	}
	agree_any(t->ranks, false); /* a barrier: no sample includes waiting for another's reset */
	spent = t->ranks ? t->ranks->spent() : NAN;
	team_ready(team, s->pairs ? NULL : ops->ready);
	team_time(team, s->pairs ? work_in_pair : ops->work, s->pairs ? s : s->state,
		  by_deadline ? s->duration : 0, by_deadline ? 0 : lead,
		  t->benchmark->protocol.scored == TOGETHER ? 1 : lead);
	team_ready(team, NULL);
	sample.communicated = t->ranks ? t->ranks->spent() - spent : NAN;
	watchdog_back();
	s->worked = true;
	note_failure(s, team);
	if (s->pairs)
		score_pairs(s, team, turn, noise, keep, &sample);
	else
		score_all(s, team, noise, &sample);
	if (t->ranks)
		agree_sample(t->ranks, &sample, &s->evidence.failure);
	return sample;
}
