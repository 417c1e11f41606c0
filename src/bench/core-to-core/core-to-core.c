/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core-to-core - latency of moving a cache line between each pair of cores.
 *
 * Every CPU meets every other one, in rounds of disjoint pairs (harness/sample/workers.h).
 */
#include <stdlib.h>

#include "bench/core-to-core/core-to-core.h"
#include "benchmark.h"
#include "kit/events.h"
#include "machine/clock.h"
#include "machine/memory/region.h"

enum { MOST_LINES = 1024, MOST_PLAYERS = 1024 };

enum { PROTOCOL, LINES, HOME };
static const struct parameter parameters[] = {
	[PROTOCOL] = { "protocol", NULL, "how two threads exchange a line", P_CHOICE,
		       .choices = "compare-exchange,store-load,two-lines,message",
		       .meaning = { "one word; one side changes 0 to 1, the other 1 to 0",
				    "one word; each side waits for its turn, then stores",
				    "each side stores to its own line and reads the other's",
				    "a stream of lines one way, at most 8 in flight" },
		       .value = { "compare-exchange,two-lines",
				  "compare-exchange,store-load,two-lines,message" } },
	[LINES] = { "lines", "lines", "number of lines on which each pair is measured", P_COUNT,
		    .value = { "16" } },
	[HOME] = { "home", NULL, "nodes on which the lines lie", P_NODE,
		   .value = { "first", "all" } },
};

enum { TIME, ONE_WAY, SKEW_BOUND };
static const struct metric metrics[] = {
	[TIME] = TIME_METRIC("transfer"),
	[ONE_WAY] = { "one-way", "s", "time of single transfers; error at most skew-bound",
		      LOWER_IS_BETTER, .kind = M_DISTRIBUTION },
	[SKEW_BOUND] = { "skew-bound", "s",
			 "largest error of one-way times over all pairs (the same for all "
			 "transfers in one direction)",
			 LOWER_IS_BETTER, NULL },
};

static size_t bytes_of(const struct trial *t)
{
	return (size_t)t->value[LINES].count * (t->threads / 2) * sizeof(struct lines);
}

static void release(void *state)
{
	struct core_to_core *s = state;

	free(s->stamps);
	free(s->times);
	free(s);
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
static uint64_t turns_of(const struct worker *w)
{
	const uint64_t ring = RING;

	return (w->count + 2 * ring - 1) / (2 * ring) * ring;
}

static void work(void *state, struct worker *self)
{
	const struct core_to_core *s = state;
	const uint64_t turns = turns_of(self);

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

/* ---- one-way ---- */

static void *prepare_one_way(const struct trial *t)
{
	struct core_to_core *s = prepare(t);

	if (!s)
		return NULL;
	s->exchange = exchange_two_lines; /* takes the lines over */
	s->tick = clock_tick();
	s->stamps = apart_alloc(s->tables * sizeof(*s->stamps));
	s->times = apart_alloc(sizeof(*s->times));
	if (s->stamps && s->times)
		return s;
	release(s);
	return NULL;
}

static void reset_one_way(void *state)
{
	struct core_to_core *s = state;

	for (unsigned pair = 0; pair < s->tables; pair++)
		s->stamps[pair][0].n = s->stamps[pair][1].n = 0;
	histogram_clear(s->times);
	reset(s);
}

static void work_one_way(void *state, struct worker *self)
{
	const struct core_to_core *s = state;
	const uint64_t turns = turns_of(self);

	exchange_stamps(core_to_core_lines(s, self->meeting, self->group), self->role, turns,
			&s->stamps[self->group][self->role]);
	self->done = 2 * turns;
}

static void collect_one_way(void *state, const struct trial *t, struct result *result)
{
	const struct core_to_core *s = state;
	double most = 0, bound;

	(void)t;
	for (unsigned pair = 0; pair < s->tables; pair++)
		if (one_way_add(s->stamps[pair], s->times, &bound))
			most = bound > most ? bound : most;
	if (most <= 0)
		return;
	report_distribution(result, ONE_WAY, s->times, s->tick);
	report(result, SKEW_BOUND, most * s->tick);
}

static const char *verify_one_way(void *state, const struct trial *t)
{
	const struct core_to_core *s = state;

	(void)t;
	for (size_t i = 0; i < (size_t)s->meetings * s->tables; i++)
		if ((s->lines[i].line[0].word | s->lines[i].line[1].word) & 1)
			return "a stamp that one thread sent was not received";
	return NULL;
}

static struct needs needs(const struct trial *t)
{
	const uint64_t lines = t->value[LINES].count;

	if (t->threads < 2)
		return (struct needs){ .pointless = "it needs at least two threads" };
	if (!lines || lines > MOST_LINES)
		return (struct needs){ .pointless = "each pair is measured with 1 to 1024 lines" };
	if (t->threads > MOST_PLAYERS)
		return (struct needs){
			.pointless =
				"at most 1024 CPUs can meet: choose some with --threads or --bind"
		};
	return (struct needs){ .bytes = bytes_of(t), .meetings = (unsigned)lines };
}

static const struct ops one_way_ops = {
	prepare_one_way, NULL, reset_one_way, work_one_way, collect_one_way, verify_one_way, release
};

static const struct variant variants[] = {
	{ "ping-pong", "a line moves from one core to another and back" },
	{ "one-way", "as ping-pong, with the times at which each side sends and receives",
	  .unused = BIT(PROTOCOL), .ops = &one_way_ops, .available = one_way_lacks },
};

static const struct role roles[] = { { "player", NULL, BY_COUNT } };

static const struct explained counters[] = {
	{ EVENT_CYCLES, "cycles per transfer, independent of the frequency" },
	{ EVENT_L1_MISSES, "misses: the line was in another core's cache" },
	EVENTS_OF_TAKEN_LINES,
};

const struct benchmark core_to_core_benchmark = {
	.name = "core-to-core",
	.summary = "latency of moving a cache line between each pair of cores",
	.protocol = { 2, "two threads exchange a line: half a round trip, or one line of a stream",
		      .scored = IN_PAIRS },
	.unit = { "transfer", .cycles = true },
	ROWS(parameters, parameters),
	ROWS(metrics, metrics),
	ROWS(counters, counters),
	ROWS(variants, variants),
	.ops = { prepare, NULL, reset, work, NULL, verify, release },
	ROWS(roles, roles),
	.preset = {
		[QUICK] = { "ping-pong", .threads = "auto", .sample = 1e-4 },
		[STANDARD] = { "ping-pong,one-way" },
	},
	.needs = needs,
};
