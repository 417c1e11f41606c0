/* SPDX-License-Identifier: Apache-2.0 */
/*
 * readers - one thread writes a word, the others read the same word or one near it: the cost for
 * both, by the distance of the two words.
 */
#include <stdlib.h>

#include "bench/readers/readers.h"
#include "base/relax.h"
#include "benchmark.h"
#include "kit/events.h"
#include "kit/loop.h"
#include "kit/opaque.h"
#include "machine/memory/region.h"
#include "machine/topology/topology.h"

enum { LAYOUT, PAUSES };
enum { SAME_WORD, SAME_LINE, NEXT_LINE, PADDED };

static const struct parameter parameters[] = {
	[LAYOUT] = { "layout", NULL, "position of the readers' word", P_CHOICE,
		     .choices = "word,line,next,padded",
		     .meaning = { "the writer's word", "on the writer's line", "on the next line",
				  "two pairs of lines away" },
		     .value = { "word,line,next,padded" } },
	[PAUSES] = { "pauses", "pauses", "pause instructions between two writes", P_COUNT,
		     .value = { "0,100", "0,1,10,100,1000,10K" }, .curve = true },
};

enum { TIME, WRITE };
static const struct metric metrics[] = {
	[TIME] = TIME_METRIC("read"),
	[WRITE] = { "write", "s/write", "time from one write to the next, including pauses",
		    LOWER_IS_BETTER, NULL },
};

static const struct ratio ratios[] = {
	{ "slowdown", "of reading the word that is written", LAYOUT, "word", "padded", NULL },
	{ "slowdown", "of reading another word on the written line", LAYOUT, "line", "padded",
	  NULL },
	{ "slowdown", "of reading the line next to the written one", LAYOUT, "next", "padded",
	  NULL },
	{ "slowdown", "of writing the word that is read", LAYOUT, "word", "padded", "write" },
	{ "slowdown", "of writing another word on the line that is read", LAYOUT, "line", "padded",
	  "write" },
	{ "slowdown", "of writing the line next to the one that is read", LAYOUT, "next", "padded",
	  "write" },
};

struct state {
	struct words words;
	struct start start;
	_Alignas(APART) uint64_t written; /* since the start */
};

/*
 * Bytes from the writer's word to the readers'. The writer's word begins a page, and so a pair of
 * lines that an adjacent-line prefetcher fetches.
 */
static size_t distance(const struct trial *t)
{
	const size_t pair = machine_apart(t->machine);

	switch (t->value[LAYOUT].choice) {
	case SAME_WORD:
		return 0;
	case SAME_LINE:
		return sizeof(uint64_t);
	case NEXT_LINE:
		return pair / 2;
	default:
		return 2 * pair;
	}
}

static size_t bytes_of(const struct trial *t)
{
	return distance(t) + sizeof(uint64_t);
}

static void *prepare(const struct trial *t)
{
	struct state *s = apart_alloc(sizeof(*s));
	/* the writer is the last worker */
	unsigned char *words =
		s ? region_on_node(t->arena, "words", bytes_of(t), t->place[t->threads - 1].node)
		  : NULL;

	if (!words) {
		free(s);
		return NULL;
	}
	s->words.written = (_Atomic uint64_t *)words;
	s->words.read = (_Atomic uint64_t *)(words + distance(t));
	s->words.pauses = t->value[PAUSES].count;
	s->start.awaited = t->oversubscribed ? 0 : t->threads;
	return s;
}

static void reset(void *state)
{
	struct state *s = state;

	start_reset(&s->start);
}

/*
 * Adds the value ANDed with zero to the address, so that each load waits for the previous one: two
 * cycles more than the load itself.
 */
__attribute__((noinline)) void readers_read(void *words, uint64_t n)
{
	const struct words *p = words;
	_Atomic uint64_t *word = p->read;
	uint64_t nothing = 0;

	OPAQUE(nothing);
	for (; n; n--)
		word += atomic_load_explicit(word, memory_order_relaxed) & nothing;
	OPAQUE(word);
}

__attribute__((noinline)) void readers_write(void *words, uint64_t n)
{
	const struct words *p = words;
	_Atomic uint64_t *word = p->written;
	uint64_t value = atomic_load_explicit(word, memory_order_relaxed);
	const uint64_t pauses = p->pauses;

	for (; n; n--) {
		atomic_store_explicit(word, ++value, memory_order_relaxed);
		for (uint64_t i = 0; i < pauses; i++)
			cpu_pause();
	}
}

static void work(void *state, struct worker *self)
{
	struct state *s = state;

	if (!self->role) {
		loop(&s->start, self, readers_read, &s->words);
		return;
	}
	loop(&s->start, self, readers_write, &s->words);
	s->written += self->done;
}

static void collect(void *state, const struct trial *t, struct result *result)
{
	const uint64_t writes = team_worker(t->team, t->threads - 1)->together;

	(void)state;
	if (writes)
		report(result, WRITE, elapsed(result) / (double)writes);
}

static const char *verify(void *state, const struct trial *t)
{
	const struct state *s = state;

	(void)t;
	return atomic_load(s->words.written) == s->written
		       ? NULL
		       : "the word does not hold the number of its writes";
}

static struct needs needs(const struct trial *t)
{
	if (t->threads < 2)
		return (struct needs){ .pointless = "it needs a writer and a reader" };
	return (struct needs){ .bytes = bytes_of(t) };
}

static unsigned all_but_one(const struct trial *t)
{
	return t->threads - 1;
}

static const struct variant variants[] = {
	{ "load", "reads are loads; each waits for the previous one" },
};

static const struct role roles[] = {
	{ "reader", all_but_one, BY_DEADLINE },
	{ "writer", NULL, BY_DEADLINE },
};

static const struct explained counters[] = {
	{ EVENT_CYCLES, "cycles per read, independent of the frequency" },
	{ EVENT_L1_MISSES, "misses: the line was taken from the reader or the writer" },
	EVENTS_OF_TAKEN_LINES,
};

const struct benchmark readers_benchmark = {
	.name = "readers",
	.summary = "cost of a line that one thread writes and others read",
	.protocol = { 2,
		      "one thread stores to a word, the others load a word, as fast as they can; "
		      "scored over the time in which all threads work",
		      .scored = TOGETHER },
	.unit = { "read", .cycles = true },
	ROWS(parameters, parameters),
	ROWS(metrics, metrics),
	ROWS(ratios, ratios),
	ROWS(counters, counters),
	ROWS(variants, variants),
	.ops = { prepare, NULL, reset, work, collect, verify, free },
	ROWS(roles, roles),
	.preset = {
		[QUICK] = { .threads = "auto", .sample = 5e-3 },
		[STANDARD] = { .threads = "2..auto*2,auto" },
	},
	.needs = needs,
};
