/* SPDX-License-Identifier: Apache-2.0 */
/* A tournament by the circle method, and how long it takes. */
#include "harness/plan/plan.h"

/*
 * The circle method (Kirkman 1850): one player keeps its seat, the others move on by one seat each
 * round.
 */
static unsigned seats(unsigned players)
{
	return players + players % 2;
}

unsigned tournament_rounds(unsigned players)
{
	return players < 2 ? 0 : seats(players) - 1;
}

unsigned tournament_slots(unsigned players)
{
	return seats(players) / 2;
}

bool tournament_pair(unsigned players, unsigned round, unsigned slot, unsigned *a, unsigned *b)
{
	const unsigned last = seats(players) - 1;
	unsigned one = (round + slot) % last, other = slot ? (round + last - slot) % last : last;

	*a = one < other ? one : other;
	*b = one < other ? other : one;
	return *b < players;
}

bool tournament_partner(unsigned players, unsigned round, unsigned player, unsigned *partner,
			unsigned *slot)
{
	const unsigned last = seats(players) - 1, begin = round % last,
		       from = player == last ? 0 : (player + last - begin) % last;

	*slot = from < last - from ? from : last - from;
	*partner = from ? (begin + last - from) % last : player == last ? begin : last;
	return *partner < players;
}

double plan_tournament(const struct planned *p)
{
	const struct trial *t = &p->trial;

	if (t->benchmark->protocol.scored != IN_PAIRS || p->refusal)
		return 0;
	return (double)tournament_rounds(t->threads) * p->needs.meetings *
	       (p->sample + 20e-6 + 2e-6 * t->threads);
}
