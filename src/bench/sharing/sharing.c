/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sharing - threads update words on one cache line (true or false sharing), or on separate lines.
 *
 * The operations and memory layouts, and 2^25 operations over 1 to 64 threads, come from P.
 * Sestoft, "A multicore performance mystery solved" (2017), section 4.2: in `paper` with its words
 * of 4 bytes, its padding of 64, and nothing done under a lock. Words at any distance are an
 * addition.
 */
#include <stdlib.h>
#include <string.h>

#include "bench/sharing/kernels.h"
#include "benchmark.h"
#include "kit/events.h"
#include "kit/loop.h"
#include "machine/memory/region.h"
#include "machine/topology/topology.h"

enum { LAYOUT, LOCK, OPERATIONS, DISTANCE, OPERATION, WORD, PADDING, SECTION };
enum { SHARED, DENSE, PADDED };

/* Two lines: the adjacent-line prefetcher must not fetch another thread's word. */
static uint64_t automatic_padding(const struct machine *m, enum profile profile)
{
	(void)profile;
	return machine_apart(m);
}

static const struct parameter parameters[] = {
	[LAYOUT] = { "layout", NULL, "layout of the words", P_CHOICE,
		     .choices = "shared,dense,padded",
		     .meaning = { "one word for all threads", "one word per thread, packed",
				  "one word per thread, on its own lines" },
		     .value = { "shared,dense,padded" } },
	[LOCK] = { "lock", NULL, "kind of lock", P_CHOICE, .choices = "mutex,spin,ticket,mcs,futex",
		   .value = { "mutex", "mutex,futex", "mutex,spin,ticket,mcs,futex" } },
	[OPERATIONS] = { "operations", "operations",
			 "operations of all threads together; 0: as many as --duration allows",
			 P_COUNT, .value = { "0", NULL, "33554432" }, .zero = "auto" },
	[DISTANCE] = { "distance", "B", "bytes from one thread's word to the next thread's", P_SIZE,
		       .value = { "4,8,16,32,48,64,96,128,256,512,4K", "4..32*2,48,64,96,128..4K*2",
				  NULL },
		       .curve = true },
	[OPERATION] = { "operation", NULL, "operation on the words", P_CHOICE,
			.choices = "add,fetch-add", .value = { "fetch-add", "add,fetch-add" } },
	[WORD] = { "word", "B", "bytes of a word", P_CHOICE, .choices = "4,8",
		   .value = { "8", NULL, "4" } },
	[PADDING] = { "padding", "B",
		      "distance of padded words (auto: two cache lines, at least 128)", P_SIZE,
		      .value = { "auto", NULL, "64" }, .automatic = automatic_padding },
	[SECTION] = { "section", NULL, "work under the lock", P_CHOICE,
		      .choices = "increment,empty",
		      .meaning = { "increments the word", "does nothing: the lock alone" },
		      .value = { "increment", NULL, "empty" } },
};

enum { TIME, THROUGHPUT, FAIRNESS, LOST };

static const struct metric metrics[] = {
	[TIME] = TIME_METRIC("operation"),
	[THROUGHPUT] = THROUGHPUT_METRIC("operation"),
	[FAIRNESS] = FAIRNESS_METRIC("operation"),
	[LOST] = { "lost", "1", "share of updates lost to races", NEITHER_IS_BETTER, NULL },
};

static const struct ratio ratios[] = {
	{ "slowdown", "by false sharing", LAYOUT, "dense", "padded", NULL },
	{ "slowdown", "by true sharing", LAYOUT, "shared", "padded", NULL },
};

/*
 * An operation, and the memory it updates: `size` bytes, with a word of `bytes` bytes at offset
 * `word` (0 bytes: it counts nothing).
 */
struct operation {
	update *run;
	size_t size, word, bytes;
	bool fair;  /* the lock serves threads in the order of arrival */
	bool exact; /* no update is lost, even if words are shared */
};

/* Indexed by the choices of the parameter that distinguishes them. */
static const struct operation add[] = { { update_add_32, sizeof(uint32_t), 0, sizeof(uint32_t) },
					{ update_add, sizeof(uint64_t), 0, sizeof(uint64_t) } },
			      fetch_add[] = { { update_fetch_add_32, sizeof(uint32_t), 0,
						sizeof(uint32_t), .exact = true },
					      { update_fetch_add, sizeof(uint64_t), 0,
						sizeof(uint64_t), .exact = true } },
			      compare_exchange[] = { { update_compare_exchange_32, sizeof(uint32_t),
						       0, sizeof(uint32_t), .exact = true },
						     { update_compare_exchange, sizeof(uint64_t), 0,
						       sizeof(uint64_t), .exact = true } },
			      words[] = { { update_add_32, sizeof(uint32_t), 0, sizeof(uint32_t) },
					  { update_fetch_add_32, sizeof(uint32_t), 0,
					    sizeof(uint32_t), .exact = true } };

/* An increment under a lock, or the lock alone: the word is then unused, so that strides agree. */
#define GUARDED(KIND, RUN, BYTES, FAIR)                                              \
	{                                                                            \
		RUN##_##KIND, sizeof(struct guarded_by_##KIND),                      \
			offsetof(struct guarded_by_##KIND, word), BYTES, FAIR, true, \
	}
enum { LOCKS = 5 };
static const struct operation locks[2 * LOCKS] = {
	GUARDED(mutex, update, sizeof(uint64_t), false),
	GUARDED(spin, update, sizeof(uint64_t), false),
	GUARDED(ticket, update, sizeof(uint64_t), true),
	GUARDED(mcs, update, sizeof(uint64_t), true),
	GUARDED(futex, update, sizeof(uint64_t), false),
	GUARDED(mutex, empty, 0, false),
	GUARDED(spin, empty, 0, false),
	GUARDED(ticket, empty, 0, true),
	GUARDED(mcs, empty, 0, true),
	GUARDED(futex, empty, 0, false),
};

/* A variant's operations, and the parameter that chooses one. */
struct choice {
	const struct operation *of;
	unsigned parameter;
	/* words lie --distance apart, and not as --layout says */
	bool spaced;
};
static const struct choice the_add = { add, WORD }, the_fetch_add = { fetch_add, WORD },
			   the_compare_exchange = { compare_exchange, WORD },
			   a_lock = { locks, LOCK },
			   spaced_words = { words, OPERATION, .spaced = true };

/* A worker's private data. */
struct own {
	struct mcs_node node;
	_Alignas(APART) uint64_t did; /* operations since the start */
};

struct state {
	const struct operation *operation;
	unsigned threads;
	uint64_t mask; /* all bits of a word */
	size_t stride;
	unsigned char *places;
	uint64_t before; /* sum of the words before the sample */
	struct start start;
	struct own own[];
};

static const struct choice *choice_of(const struct trial *t)
{
	return t->variant->data;
}

static const struct operation *operation_of(const struct trial *t)
{
	const struct choice *c = choice_of(t);

	return &c->of[t->value[c->parameter].choice +
		      (c->of == locks ? LOCKS * t->value[SECTION].choice : 0)];
}

static size_t stride_of(const struct trial *t)
{
	const size_t padding = t->value[PADDING].count;

	if (choice_of(t)->spaced)
		return t->value[DISTANCE].count;
	switch (t->value[LAYOUT].choice) {
	case SHARED:
		return 0;
	case DENSE:
		return operation_of(t)->size;
	default:
		/* without padding: pointless() refuses it */
		return padding ? (operation_of(t)->size + padding - 1) / padding * padding : 0;
	}
}

static size_t bytes_of(const struct trial *t)
{
	return stride_of(t) * (t->threads - 1) + operation_of(t)->size;
}

/* The words lie on the node of the first thread. */
static void *prepare(const struct trial *t)
{
	const size_t bytes = sizeof(struct state) + t->threads * sizeof(struct own);
	struct state *s = apart_alloc(bytes);

	if (!s)
		return NULL;
	s->operation = operation_of(t);
	s->threads = t->threads;
	s->start.awaited = t->oversubscribed ? 0 : t->threads;
	s->mask = s->operation->bytes == sizeof(uint32_t) ? UINT32_MAX : UINT64_MAX;
	s->stride = stride_of(t);
	s->places = region_on_node(t->arena, "shared words", bytes_of(t), t->place[0].node);
	if (!s->places) {
		free(s);
		return NULL;
	}
	for (unsigned i = 0; s->operation->size == sizeof(struct guarded_by_mutex) &&
			     i < (s->stride ? t->threads : 1);
	     i++)
		pthread_mutex_init(&((struct guarded_by_mutex *)(s->places + i * s->stride))->lock,
				   NULL);
	return s;
}

static uint64_t word_of(const struct state *s, unsigned worker)
{
	const unsigned char *word = s->places + worker * s->stride + s->operation->word;
	uint64_t long_word = 0;
	uint32_t short_word;

	if (s->operation->bytes == sizeof(short_word)) {
		memcpy(&short_word, word, sizeof(short_word));
		return short_word;
	}
	memcpy(&long_word, word, s->operation->bytes);
	return long_word;
}

static uint64_t sum_of_words(const struct state *s)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < (s->stride ? s->threads : 1); i++)
		sum += word_of(s, i);
	return sum;
}

static void reset(void *state)
{
	struct state *s = state;

	s->before = sum_of_words(s);
	start_reset(&s->start);
}

struct job {
	update *run;
	void *place;
	struct mcs_node *node;
};

static inline void update_n(void *job, uint64_t n)
{
	const struct job *j = job;

	j->run(j->place, j->node, n);
}

static void work(void *state, struct worker *self)
{
	struct state *s = state;
	struct own *own = &s->own[self->index];
	struct job job = { s->operation->run, s->places + self->index * s->stride, &own->node };

	loop(&s->start, self, update_n, &job);
	own->did += self->done;
}

static void collect(void *state, const struct trial *t, struct result *result)
{
	const struct state *s = state;
	uint64_t all = 0;

	for (unsigned i = 0; i < t->threads; i++) {
		const struct worker *w = team_worker(t->team, i);

		report_by_worker(result, FAIRNESS, i, (double)w->together);
		all += w->done;
	}
	if (!s->operation->exact)
		report(result, LOST,
		       (double)((all - (sum_of_words(s) - s->before)) & s->mask) / (double)all);
}

/* Updates lost to races on a shared word are a result, not an error. */
static const char *verify(void *state, const struct trial *t)
{
	const struct state *s = state;
	uint64_t did = 0;

	if (!s->operation->bytes)
		return NULL;
	for (unsigned i = 0; i < t->threads; i++) {
		did += s->own[i].did;
		if (s->stride && word_of(s, i) != (s->own[i].did & s->mask))
			return "a per-thread word does not hold the number of its updates";
	}
	if (!s->stride && s->operation->exact && word_of(s, 0) != did)
		return "the shared word does not hold the number of all updates: some were lost";
	return NULL;
}

/* Why the trial makes no sense; NULL: it does. */
static const char *pointless(const struct trial *t)
{
	const uint64_t distance = t->value[DISTANCE].count;

	const uint64_t padding = t->value[PADDING].count;

	if (!choice_of(t)->spaced && (!padding || padding % sizeof(uint64_t)))
		return "--padding is a multiple of 8 bytes";
	if (choice_of(t)->spaced && t->threads < 2)
		return "it needs at least two threads";
	if (choice_of(t)->spaced && (distance < sizeof(uint32_t) || distance % sizeof(uint32_t)))
		return "--distance: a multiple of 4 bytes, at least 4, for words of 4 bytes";
	if (operation_of(t)->fair && t->value[OPERATIONS].count && t->oversubscribed)
		return "with more threads than CPUs, first-come-first-served locks take hours for "
		       "a fixed number of operations: give --operations 0";
	return NULL;
}

static struct needs needs(const struct trial *t)
{
	return (struct needs){ .pointless = pointless(t),
			       .bytes = bytes_of(t),
			       .units = t->value[OPERATIONS].count };
}

static const struct override distance_defaults[] = { { P_THREADS, { "2,auto" } } };
enum { SPACED_ONLY = BIT(DISTANCE) | BIT(OPERATION), OF_LOCKS = BIT(LOCK) | BIT(SECTION) };
static const struct variant variants[] = {
	{ "add", "load, add, store: shared words lose updates", &the_add, SPACED_ONLY | OF_LOCKS },
	{ "fetch-add", "one atomic instruction", &the_fetch_add, SPACED_ONLY | OF_LOCKS },
	{ "compare-exchange", "load, compare and exchange, until it succeeds",
	  &the_compare_exchange, SPACED_ONLY | OF_LOCKS },
	{ "lock", "an increment under a lock, or the lock alone", &a_lock,
	  SPACED_ONLY | BIT(WORD) },
	{ "distance", "words at a given distance: how much padding is enough", &spaced_words,
	  BIT(LAYOUT) | OF_LOCKS | BIT(OPERATIONS) | BIT(WORD) | BIT(PADDING),
	  ROWS(defaults, distance_defaults) },
};

static const struct role roles[] = { { "thread", NULL, BY_DEADLINE } };

static const struct explained counters[] = {
	{ EVENT_CYCLES, "cycles per operation, independent of the frequency" },
	{ EVENT_INSTRUCTIONS, "instructions: with locks they grow with failed attempts" },
	{ EVENT_L1_MISSES, "misses: the line was in another core's cache" },
	EVENTS_OF_TAKEN_LINES,
};

const struct benchmark sharing_benchmark = {
	.name = "sharing",
	.summary = "cost of updating a cache line from several threads",
	.protocol = { 1,
		      "each thread updates its word as fast as it can; scored over the time in "
		      "which all threads work",
		      "sestoft2017",
		      .scored = TOGETHER },
	.unit = { "operation", .cycles = true },
	ROWS(parameters, parameters),
	ROWS(metrics, metrics),
	ROWS(counters, counters),
	ROWS(ratios, ratios),
	ROWS(variants, variants),
	.ops = { prepare, NULL, reset, work, collect, verify, free },
	ROWS(roles, roles),
	.preset = {
		[QUICK] = { .threads = "auto", .sample = 5e-3 },
		[STANDARD] = { .threads = "1..auto*2,auto" },
		[PAPER] = { .threads = "1,2,4,8,16,32,64" },
	},
	.needs = needs,
};
