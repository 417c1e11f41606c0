/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/coherence/coherence.h"

static bool is(const struct worker *w, enum side side)
{
	return w->group != TEAM_IDLE && w->role == side;
}

static void load_all(const struct block *b)
{
	walk_load(lines_first(&b->lines), b->lines.n, NULL);
}

static void take_seat(void *state, struct worker *self)
{
	struct coherence *c = state;

	if (self->group != TEAM_IDLE)
		coherence_block(c, self->group)->worker[self->role] = self->index;
}

static void own(void *state, struct worker *self)
{
	struct coherence *c = state;
	struct block *b;

	if (!is(self, SIDE_OWNER))
		return;
	b = coherence_block(c, self->group);
	b->end = lines_lay(&b->lines, ++b->laid);
	if (c->state == STATE_MODIFIED)
		return;
	lines_flush(&b->lines);
	if (c->state != STATE_MEMORY)
		load_all(b);
}

bool coherence_shares(const struct coherence *c, const struct block *b, unsigned worker)
{
	const unsigned owner = b->worker[SIDE_OWNER], n = c->threads;
	const unsigned taker = (b->worker[SIDE_TAKER] + n - owner) % n,
		       turn = (worker + n - owner) % n;

	if (owner == TEAM_IDLE || !turn || turn == taker)
		return false;
	return turn - (turn > taker) <= c->sharers;
}

static void share(void *state, struct worker *self)
{
	const struct coherence *c = state;

	for (unsigned i = 0; i < c->blocks; i++) {
		const struct block *b = &c->block[i];
		const bool taker = b->worker[SIDE_TAKER] == self->index;

		if (taker ? c->state == STATE_BOTH : coherence_shares(c, b, self->index))
			load_all(b);
	}
}

static void bring_into_state(struct coherence *c)
{
	team_run(c->team, own, c);
	if (c->sharers || c->state == STATE_BOTH)
		team_run(c->team, share, c);
}

static void note(void *state, struct worker *self)
{
	struct coherence *c = state;
	struct block *b;

	if (!is(self, SIDE_TAKER))
		return;
	b = coherence_block(c, self->group);
	if (c->access->noting(lines_first(&b->lines), b->lines.n, b->end, &b->single) != b->end)
		b->wrong = true;
}

void coherence_begin(struct coherence *c)
{
	c->round++;
	for (unsigned i = 0; i < c->blocks; i++) {
		c->block[i].worker[SIDE_OWNER] = c->block[i].worker[SIDE_TAKER] = TEAM_IDLE;
		histogram_clear(&c->block[i].single);
	}
	team_run(c->team, take_seat, c);
	bring_into_state(c);
	team_run(c->team, note, c);
	bring_into_state(c);
}
