/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <string.h>

#include "harness/sample/roles.h"
#include "harness/sample/sample.h"
#include "harness/plan/tournament.h"
#include "kit/agree.h"
#include "machine/watchdog.h"

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
		pair++; /* counted also if skipped: a pair alone keeps its number */
	}
}

static void work_in_pair(void *argument, struct worker *w)
{
	const struct series *s = argument;

	if (w->group != TEAM_IDLE)
		roles_ops(&s->planned->trial)->work(s->state, w);
}

/*
 * Makes the sample the same on all ranks: its time is that of the slowest rank, its communication
 * that of the rank that spent least in calls of struct ranks. A failure on one rank is one on all.
 */
static void agree_sample(const struct ranks *ranks, struct sample *s, char **failure)
{
	double x[] = { s->wall,		 isfinite(s->time) ? s->time : INFINITY,
		       s->skew,		 s->noisy,
		       -s->communicated, *failure != NULL };

	agree_largest(ranks, x, sizeof(x) / sizeof(*x));
	*s = (struct sample){ x[0], isfinite(x[1]) ? x[1] : NAN, x[2], -x[4], s->done, x[3] > 0 };
	if (x[5] > 0)
		agree_words(ranks, failure);
}

/* Keeps the reason of the first worker that could not do its work. */
static void note_failure(struct series *s, struct team *team)
{
	for (unsigned i = 0; i < s->planned->trial.threads && !s->failure; i++)
		if (team_worker(team, i)->failed)
			s->failure = strdup(team_worker(team, i)->failed);
}

struct sample sample_take(struct series *s, struct team *team, struct noise *noise,
			  struct turn turn, bool keep)
{
	const struct trial *t = &s->planned->trial;
	const struct ops *ops = roles_ops(t);
	const unsigned lead = roles_leading(t);
	const bool by_deadline = roles_until(s) == BY_DEADLINE;
	struct sample sample = { .communicated = NAN };
	double spent;

	watchdog_away(SERIES_MEASURING);
	if (s->pairs)
		pair_up(s, team, turn);
	if (ops->reset)
		ops->reset(s->state);
	for (unsigned i = 0; i < t->threads; i++) {
		struct worker *w = team_worker(team, i);

		w->count = roles_units(s, w);
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
		agree_sample(t->ranks, &sample, &s->failure);
	return sample;
}
