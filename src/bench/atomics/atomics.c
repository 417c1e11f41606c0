/* SPDX-License-Identifier: Apache-2.0 */
/*
 * atomics - what one atomic access costs: by operation, by the size of the word and how it is
 * aligned, alone or contended, near or on a remote node.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/sysfs.h"
#include "bench/atomics/kernels.h"
#include "benchmark.h"
#include "kit/events.h"
#include "kit/loop.h"
#include "machine/memory/region.h"
#include "machine/topology/topology.h"

enum { SIZE, ALIGNMENT, LAYOUT, HOME };
enum { ALIGNED, UNALIGNED, ACROSS };
enum { SHARED, PADDED };
enum { BYTES_8 = 3, BYTES_16 }; /* choices of SIZE */

static const struct parameter parameters[] = {
	[SIZE] = { "size", "B", "bytes of a word", P_CHOICE, .choices = "1,2,4,8,16",
		   .value = { "8", "1,2,4,8,16" } },
	[ALIGNMENT] = { "alignment", NULL, "alignment of a word", P_CHOICE,
			.choices = "aligned,unaligned,across",
			.meaning = { "a multiple of its size", "unaligned, within one line",
				     "across two lines: a split lock, which locks the bus for all "
				     "CPUs" },
			.value = { "aligned", "aligned,unaligned" } },
	[LAYOUT] = { "layout", NULL, "layout of the words", P_CHOICE, .choices = "shared,padded",
		     .meaning = { "one word for all threads",
				  "one word per thread, on its own lines" },
		     .value = { "shared,padded" } },
	[HOME] = { "home", NULL, "nodes on which the words lie", P_NODE,
		   .value = { "first", "all" } },
};

enum { TIME, THROUGHPUT, FAIRNESS, SUCCESS };
static const struct metric metrics[] = {
	[TIME] = TIME_METRIC("operation"),
	[THROUGHPUT] = THROUGHPUT_METRIC("operation"),
	[FAIRNESS] = FAIRNESS_METRIC("operation"),
	[SUCCESS] = { "success", "1", "share of compare-exchanges that succeeded", HIGHER_IS_BETTER,
		      NULL },
};

static const struct ratio ratios[] = {
	{ "slowdown", "by one word shared by all threads", LAYOUT, "shared", "padded", NULL },
	{ "slowdown", "by a word across two lines", ALIGNMENT, "across", "aligned", NULL },
	{ "slowdown", "by an unaligned word within one line", ALIGNMENT, "unaligned", "aligned",
	  NULL },
	{ "slowdown", "by words of 16 bytes", SIZE, "16", "8", NULL },
	{ "slowdown", "of compare-exchange against add", P_VARIANT, "compare-exchange", "add",
	  NULL },
};

/* A worker's private data. */
struct own {
	_Alignas(APART) struct job job;
	uint64_t did;	 /* operations since the start */
	uint64_t before; /* job.hits before the sample */
};

struct state {
	kernel *run;
	enum operation operation;
	unsigned threads, words;
	size_t bytes; /* of a word */
	struct start start;
	struct own own[];
};

static enum operation operation_of(const struct trial *t)
{
	return *(const enum operation *)t->variant->data;
}

static size_t word_bytes(const struct trial *t)
{
	return (size_t)1 << t->value[SIZE].choice;
}

/* Offset of a word in its place, which begins a line. */
static size_t offset_of(const struct trial *t)
{
	switch (t->value[ALIGNMENT].choice) {
	case ALIGNED:
		return 0;
	case UNALIGNED:
		return 1;
	default:
		return t->machine->line - word_bytes(t) / 2;
	}
}

/* Two words never share a line, nor a pair of lines. */
static size_t distance(const struct trial *t)
{
	return 2 * machine_apart(t->machine);
}

static unsigned words_of(const struct trial *t)
{
	return t->value[LAYOUT].choice == SHARED ? 1 : t->threads;
}

static size_t bytes_of(const struct trial *t)
{
	return words_of(t) * distance(t);
}

/* Why this machine can't run the operation; NULL: CPU and kernel both allow it. */
static const char *lack(const struct trial *t)
{
	const unsigned alignment = t->value[ALIGNMENT].choice;
	const char *why = atomics_lack(operation_of(t), (unsigned)word_bytes(t));

	return why || alignment == ALIGNED ? why : splits_refused(SYSFS_ROOT, alignment == ACROSS);
}

#define LOADED UINT64_C(0x5a5a5a5a5a5a5a5a)

/* Loads find bytes that are not 0; a word of 16 bytes is a number and its complement. */
static void set(unsigned char *word, enum operation operation, size_t bytes)
{
	static const uint64_t zero[2] = { 0, UINT64_MAX };
	static const uint64_t other[2] = { LOADED, ~LOADED };

	memcpy(word, operation == OPERATION_LOAD ? other : zero, bytes);
}

static void *prepare(const struct trial *t)
{
	const char *why = lack(t);
	struct state *s;
	unsigned char *places;

	if (why) {
		errno = ENOTSUP;
		return arena_cannot(t->arena, "%s", why);
	}
	s = apart_alloc(sizeof(*s) + t->threads * sizeof(struct own));
	places = s ? region_on_node(t->arena, "words", bytes_of(t), (int)t->value[HOME].count)
		   : NULL;
	if (!places) {
		free(s);
		return NULL;
	}
	s->operation = operation_of(t);
	s->run = atomics_kernels[s->operation][t->value[SIZE].choice];
	s->bytes = word_bytes(t);
	s->threads = t->threads;
	s->words = words_of(t);
	s->start.awaited = t->oversubscribed ? 0 : t->threads;
	for (unsigned i = 0; i < t->threads; i++) {
		unsigned char *place = places + (s->words > 1 ? i * distance(t) : 0);

		s->own[i].job.word = place + offset_of(t);
		set(s->own[i].job.word, s->operation, s->bytes);
	}
	return s;
}

static void reset(void *state)
{
	struct state *s = state;

	start_reset(&s->start);
	for (unsigned i = 0; i < s->threads; i++)
		s->own[i].before = s->own[i].job.hits;
}

static void work(void *state, struct worker *self)
{
	struct state *s = state;
	struct own *own = &s->own[self->index];

	loop(&s->start, self, s->run, &own->job);
	own->did += self->done;
}

static void collect(void *state, const struct trial *t, struct result *result)
{
	const struct state *s = state;
	uint64_t done = 0, hits = 0;

	for (unsigned i = 0; i < t->threads; i++) {
		const struct worker *w = team_worker(t->team, i);

		report_by_worker(result, FAIRNESS, i, (double)w->together);
		done += w->done;
		hits += s->own[i].job.hits - s->own[i].before;
	}
	if (s->operation == OPERATION_COMPARE_EXCHANGE && done)
		report(result, SUCCESS, (double)hits / (double)done);
}

/* Sums over the threads that share a word: what they did to it. */
struct deeds {
	uint64_t did, got, put, hits;
	bool stored; /* the word holds the last store of one of them */
};

static uint64_t mask_of(size_t bytes)
{
	return bytes < sizeof(uint64_t) ? (UINT64_C(1) << 8 * bytes) - 1 : UINT64_MAX;
}

static const char *check_word(const struct state *s, const uint64_t word[2], const struct deeds *d)
{
	const uint64_t mask = mask_of(s->bytes);

	if (s->bytes > sizeof(*word) && word[1] != ~word[0])
		return "the halves of a word come from different accesses: one was not atomic";
	switch (s->operation) {
	case OPERATION_LOAD:
		return word[0] == (LOADED & mask) && d->got == d->did * word[0]
			       ? NULL
			       : "loads did not return the word's value";
	case OPERATION_STORE:
		return d->stored || !d->did ? NULL : "a word does not hold the last value stored";
	case OPERATION_ADD:
		return word[0] == (d->did & mask) ? NULL : "an addition was lost";
	case OPERATION_EXCHANGE:
		return word[0] == ((d->put - d->got) & mask) ? NULL : "an exchange was lost";
	default:
		return word[0] == (d->hits & mask) ? NULL : "a compare-exchange was lost";
	}
}

static const char *verify(void *state, const struct trial *t)
{
	const struct state *s = state;
	const char *wrong = NULL;

	(void)t;
	for (unsigned first = 0; first < s->words && !wrong; first++) {
		const unsigned end = s->words > 1 ? first + 1 : s->threads;
		struct deeds d = { 0 };
		uint64_t word[2] = { 0 };

		memcpy(word, s->own[first].job.word, s->bytes);
		for (unsigned i = first; i < end; i++) {
			const struct job *j = &s->own[i].job;

			d.did += s->own[i].did;
			d.got += j->got;
			d.put += j->put;
			d.hits += j->hits;
			d.stored |= (j->value & mask_of(s->bytes)) == word[0];
		}
		wrong = check_word(s, word, &d);
	}
	return wrong;
}

static const char *pointless(const struct trial *t)
{
	const enum operation o = operation_of(t);
	const unsigned size = t->value[SIZE].choice;

	if (size == BYTES_16 && (o == OPERATION_ADD || o == OPERATION_EXCHANGE))
		return "no instruction adds or exchanges 16 bytes; use compare-exchange";
	if (t->value[ALIGNMENT].choice == ALIGNED)
		return NULL;
	if (o == OPERATION_LOAD || o == OPERATION_STORE)
		return "a load or store is atomic only where the word is aligned";
	if (!size)
		return "a byte is always aligned";
	return size == BYTES_16 ? "cmpxchg16b faults on unaligned words" : NULL;
}

static struct needs needs(const struct trial *t)
{
	return (struct needs){ .pointless = pointless(t), .bytes = bytes_of(t) };
}

static const enum operation operation[OPERATIONS] = { OPERATION_LOAD, OPERATION_STORE,
						      OPERATION_ADD, OPERATION_EXCHANGE,
						      OPERATION_COMPARE_EXCHANGE };
static const struct variant variants[] = {
	{ "load", "loads; each waits for the previous one", &operation[OPERATION_LOAD] },
	{ "store", "stores of an increasing number", &operation[OPERATION_STORE] },
	{ "add", "fetch-and-add of 1", &operation[OPERATION_ADD] },
	{ "exchange", "exchanges for an increasing number", &operation[OPERATION_EXCHANGE] },
	{ "compare-exchange", "one strong compare-exchange, successful or not",
	  &operation[OPERATION_COMPARE_EXCHANGE] },
};

static const struct role roles[] = { { "thread", NULL, BY_DEADLINE } };

static const struct explained counters[] = {
	{ EVENT_CYCLES, "cycles per operation, independent of the frequency" },
	{ EVENT_INSTRUCTIONS, "instructions of the loop; waiting adds none" },
	{ EVENT_L1_MISSES, "misses: the line was in another core's cache" },
	EVENTS_OF_TAKEN_LINES,
};

const struct benchmark atomics_benchmark = {
	.name = "atomics",
	.summary = "cost of an atomic access by operation, size and contention",
	.protocol = { 1,
		      "each thread accesses its word as fast as it can, with relaxed order; scored "
		      "over the time in which all threads work",
		      "schweizer2015", .scored = TOGETHER },
	.unit = { "operation", .cycles = true },
	ROWS(parameters, parameters),
	ROWS(metrics, metrics),
	ROWS(ratios, ratios),
	ROWS(counters, counters),
	ROWS(variants, variants),
	.ops = { prepare, NULL, reset, work, collect, verify, free },
	ROWS(roles, roles),
	.preset = { [QUICK] = { .threads = "1,auto", .sample = 5e-3 } },
	.needs = needs,
};
