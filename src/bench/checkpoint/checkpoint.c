/* SPDX-License-Identifier: Apache-2.0 */
/*
 * checkpoint - every call increments a counter (a tick), and each 256th tick increments a second
 * one (a firing).
 *
 * All variants do the same work; they differ in where a worker's two counters lie. After C. O.
 * Nutter, "Shared Data Considered Harmful" (2008): one shared pair made two threads slower than
 * one.
 */
#include <stdlib.h>
#include <string.h>

#include "bench/checkpoint/kernels.h"
#include "benchmark.h"
#include "kit/events.h"
#include "kit/loop.h"
#include "kit/pool.h"
#include "machine/memory/region.h"
#include "machine/threads/affinity.h"
#include "machine/topology/topology.h"

#define BYTES_OF_ONE ((size_t)STRINGS * STRING) /* strings of one thread */

enum { TICKS, EVERY, BODY };
enum { LOOP, REVERSE };
static const struct parameter parameters[] = {
	[TICKS] = { "ticks", "ticks",
		    "ticks of all threads together; 0: as many as --duration allows", P_COUNT,
		    .value = { "0", NULL, "1e9" }, .zero = "auto" },
	[EVERY] = { "every", "ticks", "ticks from one firing to the next (a power of two)", P_COUNT,
		    .value = { "256" } },
	[BODY] = { "body", NULL, "code that ticks", P_CHOICE, .choices = "loop,reverse",
		   .meaning = { "an empty loop", "reversal of strings of 16 bytes" },
		   .value = { "loop", "loop,reverse" } },
};

enum { TIME, THROUGHPUT, KEPT, FIRED_ERROR };

static const struct metric metrics[] = {
	[TIME] = TIME_METRIC("tick"),
	[THROUGHPUT] = THROUGHPUT_METRIC("tick"),
	[KEPT] = { "kept", "1", "share of ticks not lost to races for a shared counter",
		   HIGHER_IS_BETTER, NULL },
	[FIRED_ERROR] = { "fired-error", "1",
			  "surplus firings (negative: missing ones) over the firings due",
			  NEITHER_IS_BETTER, NULL },
};

static const struct ratio ratios[] = {
	{ "slowdown", "by one pair shared by all threads", P_VARIANT, "together", "per-thread",
	  NULL },
	{ "slowdown", "by one pair shared by all threads, on two lines", P_VARIANT, "apart",
	  "per-thread", NULL },
	{ "slowdown", "by false sharing of the threads' pairs", P_VARIANT, "per-thread-dense",
	  "per-thread", NULL },
	{ "slowdown", "by two counters on one line", P_VARIANT, "together", "apart", NULL },
	{ "slowdown", "by two counters in one 16-byte word", P_VARIANT, "together", "quadwords",
	  NULL },
	{ "slowdown", "by looking up the CPU's counter", P_VARIANT, "per-cpu", "per-thread", NULL },
	{ "gain", "from a countdown in a register", P_VARIANT, "per-thread", "best", NULL },
	{ "speed-up", "by threads", P_THREADS, "fewest", "more", "throughput" },
};

/*
 * Where pair i counts: ticks at i * stride, firings `fired` bytes further; and the kernel of each
 * body. A pair belongs to all threads (stride 0), to a worker, or to a CPU.
 */
struct spacing {
	size_t stride, fired;
	ticks *body[2];
	bool per_cpu;
};
#define LINES_APART SIZE_MAX /* stands for machine_apart() bytes */
#define IN_MEMORY                                                        \
	{                                                                \
		[LOOP] = checkpoint_loop, [REVERSE] = checkpoint_reverse \
	}
#define COUNTDOWN                                                      \
	{                                                              \
		[LOOP] = countdown_loop, [REVERSE] = countdown_reverse \
	}
#define RESTARTABLE                                              \
	{                                                        \
		[LOOP] = percpu_loop, [REVERSE] = percpu_reverse \
	}
static const struct spacing together = { 0, 8, IN_MEMORY }, quadwords = { 0, 16, IN_MEMORY },
			    apart = { 0, LINES_APART, IN_MEMORY },
			    per_thread_dense = { 16, 8, IN_MEMORY },
			    per_thread = { LINES_APART, 8, IN_MEMORY },
			    per_cpu = { LINES_APART, 8, RESTARTABLE, .per_cpu = true },
			    best = { LINES_APART, 8, COUNTDOWN };

/* A worker's private data. */
struct own {
	_Alignas(APART) struct ticker ticker;
	uint64_t ticks; /* in the last sample */
};

struct state {
	struct spacing spacing;
	uint64_t mask;
	ticks *body;
	unsigned threads, pairs;
	struct start start;
	struct own *own; /* by worker */
	size_t bytes;
	unsigned char *counters;
	unsigned char *strings; /* STRINGS of each worker */
	const char *wrong;	/* what was wrong in an earlier sample; NULL: nothing */
};

static counter *tick_of(const struct state *s, unsigned pair)
{
	return (counter *)(s->counters + pair * s->spacing.stride);
}

static counter *fired_of(const struct state *s, unsigned pair)
{
	return (counter *)(s->counters + pair * s->spacing.stride + s->spacing.fired);
}

static struct spacing spacing_of(const struct trial *t)
{
	struct spacing l = *(const struct spacing *)t->variant->data;

	l.stride = l.stride == LINES_APART ? machine_apart(t->machine) : l.stride;
	l.fired = l.fired == LINES_APART ? machine_apart(t->machine) : l.fired;
	return l;
}

/*
 * For per-CPU pairs: all CPUs that the kernel may have, since no list excludes CPUs for a thread.
 */
static unsigned pairs_of(const struct trial *t)
{
	const struct spacing l = spacing_of(t);

	if (l.per_cpu)
		return cpuset_room();
	return l.stride ? t->threads : 1;
}

static size_t bytes_of_counters(const struct trial *t)
{
	const struct spacing l = spacing_of(t);

	return (pairs_of(t) - 1) * l.stride + l.fired + sizeof(counter);
}

static size_t bytes_of_strings(const struct trial *t)
{
	return t->threads * BYTES_OF_ONE;
}

static void release(void *state)
{
	struct state *s = state;

	free(s->own);
	free(s);
}

/* Counters lie on the first thread's node, strings on the node of the thread that reverses them. */
static void *prepare(const struct trial *trial)
{
	struct state *s = apart_alloc(sizeof(*s));

	if (!s)
		return NULL;
	s->spacing = spacing_of(trial);
	s->mask = trial->value[EVERY].count - 1;
	s->body = s->spacing.body[trial->value[BODY].choice];
	s->threads = trial->threads;
	s->pairs = pairs_of(trial);
	s->start.awaited = trial->oversubscribed ? 0 : trial->threads;
	s->bytes = bytes_of_counters(trial);
	s->own = apart_alloc(trial->threads * sizeof(*s->own));
	s->counters = region_on_node(trial->arena, "counters", s->bytes, trial->place[0].node);
	s->strings = trial_pieces(trial, "strings", 0, trial->threads, BYTES_OF_ONE, false);
	if (s->own && s->counters && s->strings)
		return s;
	release(s);
	return NULL;
}

/* Each string starts as the letters from a to p. */
static void enter(void *state, struct worker *self)
{
	struct state *s = state;
	unsigned char *strings = s->strings + self->index * BYTES_OF_ONE;
	const unsigned pair = s->spacing.per_cpu ? 0 : self->index;

	for (unsigned i = 0; i < BYTES_OF_ONE; i++)
		strings[i] = string_letter(i % STRING);
	s->own[self->index].ticker = (struct ticker){ .tick = tick_of(s, pair),
						      .fired = fired_of(s, pair),
						      .mask = s->mask,
						      .strings = strings,
						      .left = s->mask + 1,
						      .stride = s->spacing.stride };
}

struct job {
	ticks *body;
	struct ticker *ticker;
};

static inline void tick_n(void *job, uint64_t n)
{
	const struct job *j = job;

	j->body(j->ticker, n);
}

static void work(void *state, struct worker *self)
{
	struct state *s = state;
	struct own *own = &s->own[self->index];
	struct job job = { s->body, &own->ticker };

	loop(&s->start, self, tick_n, &job);
	own->ticks = self->done;
}

/* Sum of one counter over the pairs. */
static uint64_t total(const struct state *s, counter *(*of)(const struct state *, unsigned))
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < s->pairs; i++)
		sum += counter_get(of(s, i));
	return sum;
}

/*
 * Firings due if no tick is lost: each pair fires separately. Only a CPU's counter knows how many
 * ticks it got.
 */
static uint64_t due(const struct state *s, uint64_t *ticks)
{
	uint64_t firings = 0;

	*ticks = 0;
	for (unsigned i = 0; i < s->threads; i++)
		*ticks += s->own[i].ticks;
	for (unsigned i = 0; i < s->pairs; i++) {
		const uint64_t own = !s->spacing.stride	  ? *ticks
				     : s->spacing.per_cpu ? counter_get(tick_of(s, i))
							  : s->own[i].ticks;

		firings += own / (s->mask + 1);
	}
	return firings;
}

/*
 * Checks the last sample. Counters of a thread or a CPU must lose nothing; lost ticks of a shared
 * counter are a result, not an error.
 */
static const char *find_wrong(const struct state *s)
{
	uint64_t ticks, firings = due(s, &ticks);

	if (!s->spacing.stride && s->threads > 1)
		return NULL;
	if (total(s, tick_of) != ticks)
		return "a counter of a thread or a CPU lost ticks";
	return total(s, fired_of) == firings
		       ? NULL
		       : "a counter of a thread or a CPU did not fire as often as it should";
}

static void reset(void *state)
{
	struct state *s = state;

	if (!s->wrong)
		s->wrong = find_wrong(s);
	memset(s->counters, 0, s->bytes);
	for (unsigned i = 0; i < s->threads; i++) {
		s->own[i].ticks = 0;
		s->own[i].ticker.left = s->mask + 1;
	}
	start_reset(&s->start);
}

static void collect(void *state, const struct trial *trial, struct result *result)
{
	const struct state *s = state;
	uint64_t ticks, firings = due(s, &ticks);

	(void)trial;
	report(result, KEPT, (double)total(s, tick_of) / (double)ticks);
	report(result, FIRED_ERROR,
	       ((double)total(s, fired_of) - (double)firings) / (double)firings);
}

/* Whether each string was reversed as often as its worker's ticks require. */
static bool strings_are_right(const struct state *s, unsigned worker)
{
	const uint64_t reversed = s->own[worker].ticker.reversed;
	const unsigned char *string = s->strings + worker * BYTES_OF_ONE;

	for (unsigned i = 0; i < STRINGS; i++, string += STRING) {
		const bool turned = (reversed / STRINGS + (i < reversed % STRINGS)) % 2;

		for (unsigned j = 0; j < STRING; j++)
			if (string[j] != string_letter(turned ? STRING - 1 - j : j))
				return false;
	}
	return true;
}

static const char *verify(void *state, const struct trial *trial)
{
	const struct state *s = state;

	(void)trial;
	for (unsigned i = 0; i < s->threads; i++)
		if (!strings_are_right(s, i))
			return "a string is not the result of its reversals";
	return s->wrong ? s->wrong : find_wrong(s);
}

static struct needs needs(const struct trial *t)
{
	const uint64_t every = t->value[EVERY].count;

	return (struct needs){
		.pointless = every && !(every & (every - 1))
				     ? NULL
				     : "--every must be a power of two, so that the test costs one "
				       "instruction",
		.bytes = bytes_of_counters(t) + bytes_of_strings(t),
		.units = t->value[TICKS].count,
	};
}

static const struct variant variants[] = {
	{ "together", "one pair of counters for all threads, within 16 bytes", &together },
	{ "quadwords", "one pair for all threads, in two 16-byte words of one line", &quadwords },
	{ "apart", "one pair for all threads, on two lines", &apart },
	{ "per-thread-dense", "a pair for each thread, packed", &per_thread_dense },
	{ "per-thread", "a pair for each thread, on its own lines", &per_thread },
	{ "per-cpu", "a pair for each CPU, on its own lines, updated by restartable sequences",
	  &per_cpu, .available = percpu_lacking },
	{ "best", "as per-thread, with a countdown in a register", &best },
};

static const struct role roles[] = { { "ticker", NULL, BY_DEADLINE } };

static const struct explained counters[] = {
	{ EVENT_CYCLES, "cycles per tick, independent of the frequency" },
	{ EVENT_INSTRUCTIONS, "instructions per tick: the same wherever the counter lies" },
	{ EVENT_L1_MISSES, "misses: another thread took the counter's line" },
	{ EVENT_BRANCH_MISSES, "mispredictions of the branch to the second counter" },
};

const struct benchmark checkpoint_benchmark = {
	.name = "checkpoint",
	.summary = "cost of a counter that every call increments, by its placement",
	.protocol = { 2,
		      "relaxed load, add, store; each 2^n-th tick increments a second counter; "
		      "scored over the time in which all threads work",
		      "nutter2008",
		      .scored = TOGETHER },
	.unit = { "tick", .cycles = true },
	ROWS(parameters, parameters),
	ROWS(metrics, metrics),
	ROWS(counters, counters),
	ROWS(ratios, ratios),
	ROWS(variants, variants),
	.ops = { prepare, enter, reset, work, collect, verify, release },
	ROWS(roles, roles),
	.preset = {
		[QUICK] = { .threads = "1,auto", .sample = 5e-3 },
		[STANDARD] = { .threads = "1..auto*2,auto" },
		/* 10^9 ticks took 1.2 to 3.9 s */
		[PAPER] = { .threads = "1,2", .sample = 2, .repeats = 5 },
	},
	.needs = needs,
};
