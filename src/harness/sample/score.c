/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>

#include "harness/sample/roles.h"
#include "harness/sample/score.h"
#include "base/statistics.h"
#include "harness/plan/tournament.h"

/* A sample of pairs is noisy if more than this share of its pairs was disturbed. */
#define NOISY_PAIRS 0.1

void score_pairs(struct series *s, struct team *team, struct turn turn, struct noise *noise,
		 bool keep, struct sample *sample)
{
	const struct trial *t = &s->planned->trial;
	double *times = calloc(t->threads / 2 + 1, sizeof(*times));
	size_t n = 0, disturbed = 0;

	for (unsigned slot = 0, a, b; slot < tournament_slots(t->threads); slot++) {
		const struct attendance *one, *other;
		bool disturbed_one, disturbed_other;
		double time, units;

		if ((turn.slot != TURN_EVERY_SLOT && turn.slot != slot) ||
		    !tournament_pair(t->threads, turn.round, slot, &a, &b))
			continue;
		one = team_attendance(team, a);
		other = team_attendance(team, b);
		units = (double)team_worker(team, a)->done;
		time = fmax(one->end, other->end) - fmax(one->begin, other->begin);
		disturbed_one = noise_witness(noise, one, t->place[a].cpu);
		disturbed_other = noise_witness(noise, other, t->place[b].cpu);
		disturbed += disturbed_one || disturbed_other;
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
	sample->noisy = (double)disturbed > NOISY_PAIRS * (double)n;
	free(times);
}

/* If there are more workers than CPUs, they never all run at once. */
static bool scored_together(const struct series *s)
{
	return s->planned->trial.benchmark->protocol.scored == TOGETHER &&
	       !s->planned->trial.oversubscribed;
}

void score_all(struct series *s, struct team *team, struct noise *noise, struct sample *sample)
{
	const struct trial *t = &s->planned->trial;
	const unsigned lead = roles_leading(t);
	/* other roles begin earlier than the first, where that waits until it is ready */
	const unsigned begin = roles_ops(t)->ready ? lead : t->threads;
	double first = INFINITY, last = 0, late = 0, soon = INFINITY, end = 0, units = 0;

	for (unsigned i = 0; i < t->threads; i++) {
		const struct attendance *a = team_attendance(team, i);
		const struct worker *w = team_worker(team, i);

		sample->noisy |= noise_witness(noise, a, t->floating ? ANY_CPU : t->place[i].cpu);
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
