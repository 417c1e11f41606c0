/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core-to-core - latency of moving a cache line between each pair of cores.
 *
 * Every CPU meets every other one, in rounds of disjoint pairs (harness/sample/pairs.h).
 */
#include <stdlib.h>

#include "bench/core-to-core/core-to-core.h"
#include "benchmark.h"
#include "kit/events.h"
#include "machine/memory/membind.h"

enum { MOST_LINES = 1024, MOST_PLAYERS = 1024 };

enum { PROTOCOL, LINES, HOME };
static const struct parameter parameters[] = {
	[PROTOCOL] = { "protocol", NULL, "how two threads exchange a line", P_CHOICE,
		       .choices = "compare-exchange,store-load,two-lines,message",
		       .value = { "compare-exchange,two-lines",
				  "compare-exchange,store-load,two-lines,message" } },
	[LINES] = { "lines", "lines", "number of lines on which each pair is measured", P_COUNT,
		    .value = { "16" } },
	[HOME] = { "home", NULL, "nodes on which the lines lie", P_NODE,
		   .value = { "first", "all" } },
	{ 0 }
};

static const struct metric metrics[] = { TIME_METRIC("transfer"), { 0 } };

static size_t bytes_of(const struct trial *t)
{
	return (size_t)t->value[LINES].count * (t->threads / 2) * sizeof(struct lines);
}

static void *prepare(const struct trial *t)
{
	static exchange *const exchanges[] = { exchange_compare_exchange, exchange_store_load,
					       exchange_two_lines, exchange_message };
	struct core_to_core *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->exchange = exchanges[t->value[PROTOCOL].choice];
	s->meetings = (unsigned)t->value[LINES].count;
	s->tables = t->threads / 2;
	s->team = t->team;
	s->lines = region_on_node(t->arena, "shared lines", bytes_of(t), (int)t->value[HOME].count);
	if (s->lines)
		return s;
	free(s);
	return NULL;
}

/*
 * A few turns that are not timed: the lines come from whoever had them in an earlier round, or
 * first touched them, and from then on only from the other side.
 */
static void take_over(void *state, struct worker *self)
{
	const struct core_to_core *s = state;

	if (self->group != TEAM_IDLE)
		s->exchange(core_to_core_lines(s, self->meeting, self->group), self->role, RING);
}

static void reset(void *state)
{
	struct core_to_core *s = state;

	s->round++;
	if (s->team)
		team_run(s->team, take_over, s);
}

/*
 * Turns are rounded up so that every exchange leaves its lines unchanged. A turn is two transfers:
 * to the other side, and back.
 */
static void work(void *state, struct worker *self)
{
	const struct core_to_core *s = state;
	const uint64_t ring = RING, turns = (self->count + 2 * ring - 1) / (2 * ring) * ring;

	s->exchange(core_to_core_lines(s, self->meeting, self->group), self->role, turns);
	self->done = 2 * turns;
}

static const char *verify(void *state, const struct trial *t)
{
	const struct core_to_core *s = state;

	(void)t;
	for (size_t i = 0; i < (size_t)s->meetings * s->tables; i++)
		for (unsigned j = 0; j < RING; j++)
			if (s->lines[i].line[j].word)
				return "a line moved more often one way than the other";
	return NULL;
}

static struct needs needs(const struct trial *t)
{
	const uint64_t lines = t->value[LINES].count;

	if (t->threads < 2)
		return (struct needs){ .pointless = "it takes two threads at least" };
	if (!lines || lines > MOST_LINES)
		return (struct needs){ .pointless = "each pair is measured with 1 to 1024 lines" };
	if (t->threads > MOST_PLAYERS)
		return (struct needs){
			.pointless =
				"at most 1024 CPUs can meet: choose some with --threads or --bind"
		};
	return (struct needs){ .bytes = bytes_of(t), .meetings = (unsigned)lines };
}

static const struct variant variants[] = {
	{ "ping-pong", "a line moves from one core to another and back" }, { 0 }
};

static const struct role roles[] = { { "player", NULL, BY_COUNT }, { 0 } };

static const struct explained counters[] = {
	{ EVENT_CYCLES, "a transfer's cycles, whatever the frequency was" },
	{ EVENT_L1_MISSES, "misses: the line was in another core's cache" },
	{ EVENT_TAKEN_FROM_CORE,
	  "loads served by another core's modified line, below the same L3" },
	{ EVENT_L3_MISSES, "lines that came from beyond the last cache: of another package" },
	{ 0 }
};

const struct benchmark core_to_core_benchmark = {
	.name = "core-to-core",
	.summary = "latency of moving a cache line between each pair of cores",
	.protocol = { 2, "two threads exchange a line: half a round trip, or one line of a stream",
		      .scored = IN_PAIRS },
	.unit = { "transfer", .cycles = true },
	.parameters = parameters,
	.metrics = metrics,
	.counters = counters,
	.variants = variants,
	.ops = { prepare, NULL, reset, work, NULL, verify, free },
	.roles = roles,
	.preset = { [QUICK] = { .threads = "auto", .sample = 1e-4 } },
	.needs = needs,
};
