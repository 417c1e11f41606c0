/* SPDX-License-Identifier: Apache-2.0 */
/*
 * coherence - cost of the first load or store of a cache line that another core holds, by the
 * line's state; and of a stream of lines from one core to another. Every CPU meets every other one,
 * in rounds of disjoint pairs (harness/sample/workers.h).
 */
#include <errno.h>
#include <stdlib.h>

#include "base/relax.h"
#include "bench/coherence/coherence.h"
#include "benchmark.h"
#include "kit/events.h"
#include "kit/random.h"
#include "kit/spin.h"
#include "machine/clock.h"
#include "machine/memory/region.h"
#include "machine/topology/topology.h"

enum { LEAST_LINES = 16, MOST_LINES = 1 << 20, MOST_PLAYERS = 1024 };

/* s: longer ticks can't separate a line from the next */
#define LONGEST_TICK 2e-9

enum { STATE, SHARERS, LINES, HOME };
static const struct parameter parameters[] = {
	[STATE] = { "state", NULL, "state of the lines", P_CHOICE,
		    .choices = "modified,exclusive,both,memory",
		    .meaning = { "the other thread has stored to them",
				 "only the other thread has loaded them",
				 "both threads have loaded them", "no cache has them" },
		    .value = { "modified,exclusive,both,memory" } },
	[SHARERS] = { "sharers", "threads", "further threads that have loaded the lines, too",
		      P_COUNT, .value = { "0", "0,1" }, .curve = true },
	[LINES] = { "lines", "lines", "lines that a thread takes, one after another", P_COUNT,
		    .value = { "256,4000", "256,2000,16000" }, .curve = true },
	[HOME] = { "home", NULL, "nodes on which the lines lie", P_NODE, .value = { "first" } },
};

static double bytes_of_line(const struct trial *t)
{
	return (double)t->machine->line;
}

enum { TIME, BANDWIDTH, SINGLE };
static const struct metric metrics[] = {
	[TIME] = TIME_METRIC("line"),
	[BANDWIDTH] = { "bandwidth", "B/s", "bytes per second of the lines that a thread takes",
			HIGHER_IS_BETTER, bytes_of_line },
	[SINGLE] = { "single", "s", "time of single lines, including reading the tick counter",
		     LOWER_IS_BETTER, .kind = M_DISTRIBUTION },
};

static const struct ratio ratios[] = {
	{ "slowdown",
	  "of lines that the other thread has modified, against lines it has only loaded", STATE,
	  "modified", "exclusive", NULL },
	{ "slowdown",
	  "of lines that both threads have loaded, against lines that only the other has", STATE,
	  "both", "exclusive", NULL },
	{ "slowdown", "of lines in memory, against lines in the other thread's cache", STATE,
	  "memory", "exclusive", NULL },
};

static const struct access load = { walk_load, walk_load_noting, false, NULL },
			   store = { walk_store, walk_store_noting, true, NULL },
			   vectors = { .fill = stream_fill_widest },
			   string = { .fill = stream_fill_memset };

/* ---- how lines get into the state that is asked for ---- */

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

/* ---- the life of a trial ---- */

/*
 * Bytes between lines: one of each pair of neighbours is used, since a prefetcher may fetch both.
 */
static size_t apart(const struct trial *t)
{
	return machine_apart(t->machine);
}

static size_t bytes_of(const struct trial *t)
{
	return (size_t)t->value[LINES].count * apart(t) * (t->threads / 2);
}

static void set_up(struct coherence *c, const struct trial *t, char *memory)
{
	const size_t lines = t->value[LINES].count, line = t->machine->line;

	c->access = t->variant->data;
	c->state = t->value[STATE].choice;
	c->sharers = (unsigned)t->value[SHARERS].count;
	c->threads = t->threads;
	c->blocks = t->threads / 2;
	c->spins = t->oversubscribed ? 0 : LOCK_SPINS;
	c->tick = clock_tick();
	c->line = line;
	c->team = t->team;
	for (unsigned i = 0; i < c->blocks; i++) {
		char *base = memory + i * lines * apart(t);

		c->block[i].lines = (struct lines){ base, lines, apart(t),
						    random_word(t->seed + t->allocation, i) };
		c->block[i].stream.fill = c->access->fill;
		c->block[i].stream.buffer = base;
		c->block[i].stream.part = lines / STREAM_PARTS * line / STREAM_STEP * STREAM_STEP;
	}
}

static void *prepare(const struct trial *t)
{
	struct coherence *c;
	void *memory;

	if (t->value[STATE].choice != STATE_MODIFIED && !lines_can_flush()) {
		errno = ENOTSUP;
		return arena_cannot(t->arena, "no instruction is known here that removes a line "
					      "from all caches");
	}
	c = apart_alloc(sizeof(*c) + t->threads / 2 * sizeof(struct block));
	memory = c ? region_on_node(t->arena, "lines", bytes_of(t), (int)t->value[HOME].count)
		   : NULL;
	if (!memory) {
		free(c);
		return NULL;
	}
	set_up(c, t, memory);
	return c;
}

static void reset(void *state)
{
	coherence_begin(state);
}

/*
 * The pair's time begins when both are there, so the taker waits for the owner, who has nothing
 * else to do. The wait adds one transfer of a line to 256 or more.
 */
static void work(void *state, struct worker *self)
{
	struct coherence *c = state;
	struct block *b = coherence_block(c, self->group);
	unsigned turn = 0;

	self->done = b->lines.n;
	if (self->role == SIDE_OWNER) {
		atomic_store_explicit(&b->begun, c->round, memory_order_release);
		return;
	}
	while (atomic_load_explicit(&b->begun, memory_order_acquire) != c->round)
		relax(turn++, c->spins);
	if (c->access->walk(lines_first(&b->lines), b->lines.n, b->end) != b->end)
		b->wrong = true;
}

static void collect(void *state, const struct trial *t, struct result *result)
{
	const struct coherence *c = state;

	(void)t;
	if (c->tick > LONGEST_TICK)
		return;
	for (unsigned i = 0; i < c->blocks; i++)
		report_distribution(result, SINGLE, &c->block[i].single, c->tick);
}

static const char *verify(void *state, const struct trial *t)
{
	const struct coherence *c = state;

	(void)t;
	for (unsigned i = 0; i < c->blocks; i++) {
		const struct block *b = &c->block[i];

		if (b->wrong || b->stream.wrong)
			return "a thread did not read what the other had written";
		if (c->access->stores && b->laid && !lines_hold(&b->lines, b->end))
			return "a line lacks a store of the thread that took it";
	}
	return NULL;
}

static void reset_stream(void *state)
{
	struct coherence *c = state;

	c->round++;
	for (unsigned i = 0; i < c->blocks; i++)
		stream_restart(&c->block[i].stream);
}

static void work_stream(void *state, struct worker *self)
{
	struct coherence *c = state;
	struct stream *s = &coherence_block(c, self->group)->stream;
	const uint64_t lines = s->part / c->line, parts = (self->count + lines - 1) / lines;

	if (self->role == SIDE_OWNER)
		stream_write(s, parts);
	else
		stream_read(s, parts);
	self->done = parts * lines;
}

static const char *pointless(const struct trial *t)
{
	const struct access *access = t->variant->data;

	if (t->threads < 2)
		return "it needs at least two threads";
	if (t->threads > MOST_PLAYERS)
		return "at most 1024 CPUs can meet: choose some with --threads or --bind";
	if (t->value[LINES].count < LEAST_LINES || t->value[LINES].count > MOST_LINES)
		return "--lines: 16 to 1048576";
	if (access->fill)
		return NULL;
	if (t->value[SHARERS].count > t->threads - 2)
		return "--sharers: needs that many threads beside the pair's two";
	if (t->value[SHARERS].count && t->value[STATE].choice == STATE_MEMORY)
		return "--sharers: no thread can share lines that no cache has";
	if (access == &load && t->value[STATE].choice == STATE_BOTH)
		return "loading a line from the thread's own cache takes it from nobody: see "
		       "latency";
	return NULL;
}

static struct needs needs(const struct trial *t)
{
	const char *why = pointless(t);

	if (why)
		return (struct needs){ .pointless = why };
	return (struct needs){ .bytes = bytes_of(t), .meetings = 2 };
}

static const struct ops stream_ops = {
	prepare, NULL, reset_stream, work_stream, NULL, verify, free
};
static const struct role stream_roles[] = { { "thread", NULL, BY_COUNT } };

static const struct variant variants[] = {
	{ "load", "one load of each line; each waits for the previous one", &load },
	{ "store", "one atomic exchange of each line; each waits for the previous one", &store },
	{ "stream", "one thread stores whole lines to a buffer while the other reads them",
	  &vectors, .unused = BIT(STATE) | BIT(SHARERS), .ops = &stream_ops,
	  ROWS(roles, stream_roles) },
	{ "memset", "as stream, but lines are written by memset()", &string,
	  .unused = BIT(STATE) | BIT(SHARERS), .ops = &stream_ops, ROWS(roles, stream_roles) },
};

static const struct role roles[] = { { "thread", NULL, TO_COMPLETION } };

static const struct explained counters[] = {
	{ EVENT_CYCLES, "a line's cycles, whatever the frequency was" },
	{ EVENT_L1_MISSES, "misses: one per line" },
	EVENTS_OF_TAKEN_LINES,
};

const struct benchmark coherence_benchmark = {
	.name = "coherence",
	.summary = "cost of taking a line from another core's cache, by its state",
	.protocol = { 1,
		      "one thread brings lines into a state, another accesses each once; each line "
		      "contains the address of the next",
		      "molka2009", .scored = IN_PAIRS },
	.unit = { "line", .cycles = true },
	ROWS(parameters, parameters),
	ROWS(metrics, metrics),
	ROWS(ratios, ratios),
	ROWS(counters, counters),
	ROWS(variants, variants),
	.ops = { prepare, NULL, reset, work, collect, verify, free },
	ROWS(roles, roles),
	.preset = { [QUICK] = { .threads = "auto", .sample = 1e-3 } },
	.needs = needs,
};
