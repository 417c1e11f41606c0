/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>

#include "bench/search/limit.h"
#include "machine/clock.h"

enum {
	FETCHED = 1 << 16, /* keys a thread, of 2^20 at least: 1 ms or less from memory */
	TIMES = 4,	   /* that the rounds are sent again */
};

static void fetch_lines(void *state, struct worker *self)
{
	struct state *s = state;
	struct searcher *searcher = &s->searcher[self->index];
	const struct stream *stream = &s->stream[self->index];
	const size_t left = stream->keys - stream->at, first = left < FETCHED ? 0 : stream->at;
	double began;

	team_barrier(s->team);
	began = clock_now();
	s->fetch(s->array, s->recipe.n, stream->key + first * stream->width, FETCHED);
	searcher->fetched = FETCHED / (clock_now() - began);
}

double limit_of_memory(struct state *s)
{
	double sum = 0;

	team_run(s->team, fetch_lines, s);
	for (unsigned i = 0; i < s->searchers; i++)
		sum += s->searcher[i].fetched;
	return sum;
}

double limit_of_wire(struct state *s)
{
	const struct ranks *ranks = s->remote.ranks;
	uint64_t keys = 0;
	int64_t all;
	double time;

	if (ranks_of(ranks) == 1)
		return NAN;
	time = clock_now();
	for (unsigned i = 0; i < TIMES; i++)
		keys += remote_carry(&s->remote);
	time = clock_now() - time;
	all = (int64_t)keys;
	ranks->sum(&all, 1);
	ranks->most(&time, 1);
	return (double)all / time;
}
