/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sharing - threads update words that lie on one line, or apart.
 *
 * The operations and layouts, and 2^25 operations over 1 to 64 threads, after P. Sestoft, "A multicore performance mystery solved" (2017),
 * section 4.2. Beyond that: words at any distance, and the time that a line takes from each core to each other.
 */
#include <stdlib.h>
#include <string.h>

#include "bench/sharing/kernels.h"
#include "benchmark.h"
#include "machine/topology.h"

enum { LAYOUT_OF, LOCK, OPERATIONS, DISTANCE, OPERATION, PROTOCOL, LINES, HOME };
enum { SHARED, DENSE, PADDED };
enum { MOST_LINES = 1024, MOST_PLAYERS = 1024 };
static const struct parameter parameters[] = {
	[LAYOUT_OF] = { "layout", NULL, "where the words are: one for all, one a thread, packed, or one a thread on lines of its own", CHOICE,
			.choices = "shared,dense,padded", .value = { "shared,dense,padded" } },
	[LOCK] = { "lock", NULL, "kind of lock", CHOICE, .choices = "mutex,spin,ticket,mcs", .value = { "mutex", "mutex,spin,ticket,mcs" } },
	[OPERATIONS] = { "operations", "operations", "operations of all threads together; 0: as many as a sample has time for", COUNT,
			 .value = { "0", NULL, "33554432" } },
	[DISTANCE] = { "distance", "B", "bytes from one thread's word to the next one's", SIZE,
		       .value = { "4,8,16,32,64,128,256,512,4K", "4..4K*2", NULL }, .in_turn = true },
	[OPERATION] = { "operation", NULL, "what is done to the words", CHOICE, .choices = "add,fetch-add", .value = { "fetch-add", "add,fetch-add" } },
	[PROTOCOL] = { "protocol", NULL, "how two threads hand a line over", CHOICE, .choices = "compare-exchange,store-load,two-lines,message",
		       .value = { "compare-exchange,two-lines", "compare-exchange,store-load,two-lines,message" } },
	[LINES] = { "lines", "lines", "different lines that each pair is measured with", COUNT, .value = { "16" } },
	[HOME] = { "home", NULL, "nodes on which the lines are", NODE, .value = { "first", "all" } },
	{ 0 }
};

enum { THROUGHPUT, FAIRNESS, LOST };

static double all_threads(const struct trial *t)
{
	return t->threads;
}

static const struct metric metrics[] = {
	[THROUGHPUT] = { "throughput", "operation/s", "operations of all threads together", HIGHER_IS_BETTER, all_threads },
	[FAIRNESS] = { "fairness", "1", "operations of the thread with the fewest over those of the one with the most", HIGHER_IS_BETTER, NULL },
	[LOST] = { "lost", "1", "share of the updates that were lost, where they may be", NEITHER, NULL },
	{ 0 }
};

static const struct ratio ratios[] = {
	{ "slowdown", "what false sharing costs", LAYOUT_OF, "dense", "padded", NULL },
	{ "slowdown", "what true sharing costs", LAYOUT_OF, "shared", "padded", NULL },
	{ 0 }
};

/*
 * What lies at a place: its size, where in it the word is that is counted, and of how many bytes. Between two looks at the stop flag `block`
 * operations are done: so few that what is done after it is little, so many that looking is.
 */
struct operation {
	update *run;
	unsigned block;                    /* of one that nobody contends for */
	size_t size, word, bytes;
	bool fair;                         /* a lock that is first come, first served */
	bool exact;                        /* no update is lost, wherever the words are */
};

#define ADDS(RUN, TYPE) { RUN, UPDATE_ADD_BLOCK, sizeof(TYPE), 0, sizeof(TYPE), false, false }
#define ATOMIC(RUN, TYPE) { RUN, UPDATE_BLOCK, sizeof(TYPE), 0, sizeof(TYPE), false, true }
#define GUARDED(KIND, FAIR)                                                                                                                    \
	{ update_##KIND, UPDATE_BLOCK, sizeof(struct guarded_by_##KIND), offsetof(struct guarded_by_##KIND, word), sizeof(uint64_t), FAIR, true }

static const struct operation add = ADDS(update_add, uint64_t), fetch_add = ATOMIC(update_fetch_add, uint64_t),
			      compare_exchange = ATOMIC(update_compare_exchange, uint64_t);
static const struct operation locks[] = { GUARDED(mutex, false), GUARDED(spin, false), GUARDED(ticket, true), GUARDED(mcs, true) };
static const struct operation words[] = { ADDS(update_add_32, uint32_t), ATOMIC(update_fetch_add_32, uint32_t) };

/* What a worker has for itself. */
struct own {
	struct mcs_node node;
	_Alignas(APART) uint64_t did;      /* operations since the start */
};

struct state {
	const struct operation *operation;
	unsigned threads;
	uint64_t mask;                     /* of a word */
	size_t stride, block;
	unsigned char *places;
	uint64_t before;                   /* what the words came to before the sample */
	exchange *exchange;
	struct lines *lines;
	unsigned tables;                   /* pairs that meet at once */
	struct own own[];
};

/* The variants. */
enum kind { ADD, FETCH_ADD, COMPARE_EXCHANGE, WITH_LOCK, AT_DISTANCE, HANDOVER };

static enum kind kind_of(const struct trial *t)
{
	return *(const enum kind *)t->variant->layout;
}

static const struct operation *operation_of(const struct trial *t)
{
	switch (kind_of(t)) {
	case ADD:
		return &add;
	case FETCH_ADD:
		return &fetch_add;
	case COMPARE_EXCHANGE:
		return &compare_exchange;
	case WITH_LOCK:
		return &locks[t->value[LOCK].choice];
	case AT_DISTANCE:
		return &words[t->value[OPERATION].choice];
	default:
		return NULL;
	}
}

/* Apart: two lines, for prefetchers pair them; and no less than 128 bytes, where a line is said to be shorter than it is moved. */
static size_t padded(const struct machine *m)
{
	return 2 * m->line > 128 ? 2 * m->line : 128;
}

static size_t stride_of(const struct trial *t)
{
	if (kind_of(t) == AT_DISTANCE)
		return t->value[DISTANCE].count;
	switch (t->value[LAYOUT_OF].choice) {
	case SHARED:
		return 0;
	case DENSE:
		return operation_of(t)->size;
	default:
		return (operation_of(t)->size + padded(t->machine) - 1) / padded(t->machine) * padded(t->machine);
	}
}

static unsigned meetings(const struct trial *t)
{
	return (unsigned)t->value[LINES].count;
}

static size_t bytes_of(const struct trial *t)
{
	if (kind_of(t) == HANDOVER)
		return (size_t)meetings(t) * (t->threads / 2) * sizeof(struct lines);
	return stride_of(t) * (t->threads - 1) + operation_of(t)->size;
}

static struct region *map(const struct trial *t)
{
	const int node = kind_of(t) == HANDOVER ? (int)t->value[HOME].count : t->place[0].node;
	const size_t bytes = bytes_of(t);
	struct region *region = region_map(t->arena, "shared words", bytes, PAGES_BASE);

	if (!region || (t->machine->nodes > 1 && region_bind(region, node)))
		return NULL;
	region_home(region, 0, bytes, node);
	memset(region_base(region), 0, bytes);
	return region;
}

static void *prepare(const struct trial *t)
{
	static exchange *const exchanges[] = { exchange_compare_exchange, exchange_store_load, exchange_two_lines, exchange_message };
	const size_t bytes = sizeof(struct state) + t->threads * sizeof(struct own);
	struct state *s = aligned_alloc(APART, (bytes + APART - 1) / APART * APART);
	struct region *region;

	if (!s)
		return NULL;
	memset(s, 0, bytes);
	region = map(t);
	if (!region) {
		free(s);
		return NULL;
	}
	s->threads = t->threads;
	if (kind_of(t) == HANDOVER) {
		s->exchange = exchanges[t->value[PROTOCOL].choice];
		s->lines = region_base(region);
		s->tables = t->threads / 2;
		return s;
	}
	s->operation = operation_of(t);
	s->mask = s->operation->bytes == sizeof(uint32_t) ? UINT32_MAX : UINT64_MAX;
	s->stride = stride_of(t);
	/* What is done after the end counts, too: of operations that may be contended for a look costs little, and a block must not last. */
	s->block = s->stride >= padded(t->machine) || t->threads == 1 ? s->operation->block : UPDATE_BLOCK / t->threads + 1;
	s->places = region_base(region);
	for (unsigned i = 0; s->operation->run == update_mutex && i < (s->stride ? t->threads : 1); i++)
		pthread_mutex_init(&((struct guarded_by_mutex *)(s->places + i * s->stride))->lock, NULL);
	return s;
}

static uint64_t word_of(const struct state *s, unsigned worker)
{
	const unsigned char *word = s->places + worker * s->stride + s->operation->word;
	uint64_t long_word;
	uint32_t short_word;

	if (s->operation->bytes == sizeof(short_word)) {
		memcpy(&short_word, word, sizeof(short_word));
		return short_word;
	}
	memcpy(&long_word, word, sizeof(long_word));
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
}

static void work(void *state, struct worker *self)
{
	struct state *s = state;
	struct own *own = &s->own[self->index];
	unsigned char *place = s->places + self->index * s->stride;
	const uint64_t count = self->count, block = s->block;
	update *run = s->operation->run;
	uint64_t done = 0, together = 0;

	while (done < count) {
		uint64_t n = count - done < block ? count - done : block;

		run(place, &own->node, n);
		done += n;
		if (together || !atomic_load_explicit(self->stop, memory_order_relaxed))
			continue;
		together = done;
		if (count == UINT64_MAX)
			break;
	}
	own->did += done;
	self->done = done;
	self->together = together ? together : done;
}

static void collect(void *state, const struct trial *t, struct result *result)
{
	const struct state *s = state;
	uint64_t least = UINT64_MAX, most = 0, all = 0;

	for (unsigned i = 0; i < t->threads; i++) {
		const struct worker *w = team_worker(t->team, i);

		least = w->together < least ? w->together : least;
		most = w->together > most ? w->together : most;
		all += w->done;
	}
	report(result, FAIRNESS, (double)least / (double)most);
	if (!s->operation->exact)
		report(result, LOST, (double)((all - (sum_of_words(s) - s->before)) & s->mask) / (double)all);
}

/* What is lost of racing additions to one word is a result, and no error. */
static const char *verify(void *state, const struct trial *t)
{
	const struct state *s = state;
	uint64_t did = 0;

	for (unsigned i = 0; i < t->threads; i++) {
		did += s->own[i].did;
		if (s->stride && word_of(s, i) != (s->own[i].did & s->mask))
			return "a word of one thread alone does not hold as many updates as it did";
	}
	if (!s->stride && s->operation->exact && word_of(s, 0) != did)
		return "the shared word does not hold as many updates as all threads did: an update that may not be lost was";
	return NULL;
}

/* Rounded up so that every exchange leaves its lines as they were. */
static void hand_over(void *state, struct worker *self)
{
	const struct state *s = state;
	const uint64_t lines = RING, turns = (self->count + 2 * lines - 1) / (2 * lines) * lines;

	s->exchange(&s->lines[(size_t)self->meeting * s->tables + self->group], self->role, turns);
	self->done = 2 * turns;
}

static const char *verify_lines(void *state, const struct trial *t)
{
	const struct state *s = state;

	for (size_t i = 0; i < (size_t)meetings(t) * s->tables; i++)
		for (unsigned j = 0; j < RING; j++)
			if (s->lines[i].line[j].word)
				return "a line was handed over more often one way than the other";
	return NULL;
}

static uint64_t count(const struct trial *t, unsigned worker)
{
	uint64_t all = t->value[OPERATIONS].count;

	if (t->variant->lacks & LACKS(OPERATIONS))
		return 0;
	return all / t->threads + (worker < all % t->threads);
}

static size_t footprint(const struct trial *t)
{
	return bytes_of(t);
}

static bool applies(const struct trial *t, const char **why_not)
{
	const struct operation *o = operation_of(t);

	*why_not = "it takes two threads at least";
	if (t->threads < 2 && (kind_of(t) == HANDOVER || kind_of(t) == AT_DISTANCE))
		return false;
	*why_not = "each pair is measured with 1 to 1024 lines";
	if (kind_of(t) == HANDOVER && (!t->value[LINES].count || t->value[LINES].count > MOST_LINES))
		return false;
	*why_not = "a line goes between 1024 CPUs at most: choose some with --threads or --bind";
	if (kind_of(t) == HANDOVER)
		return t->threads <= MOST_PLAYERS;
	*why_not = "words of 4 bytes are at least 4 bytes apart, and at a multiple of that";
	if (kind_of(t) == AT_DISTANCE && (t->value[DISTANCE].count < sizeof(uint32_t) || t->value[DISTANCE].count % sizeof(uint32_t)))
		return false;
	*why_not = "with more threads than CPUs, locks that are first come, first served take hours for a fixed number of operations: give --operations 0";
	return !(o->fair && t->value[OPERATIONS].count && t->oversubscribed);
}

static const enum kind with_add = ADD, with_fetch_add = FETCH_ADD, with_compare_exchange = COMPARE_EXCHANGE, with_lock = WITH_LOCK,
		       at_distance = AT_DISTANCE, handover = HANDOVER;

#define PAIRS_ONLY (LACKS(PROTOCOL) | LACKS(LINES) | LACKS(HOME))
#define NO_PAIRS (LACKS(DISTANCE) | LACKS(OPERATION) | PAIRS_ONLY)
#define UPDATES(NAME, SUMMARY, KIND, LACKING, ...)                                                                                             \
	{ .name = (NAME), .summary = (SUMMARY), .layout = &(KIND), .lacks = (LACKING), .prepare = prepare, .reset = reset, .work = work,               \
	  .collect = collect, .verify = verify, .release = free, .together = true, __VA_ARGS__ }
static const struct variant variants[] = {
	UPDATES("add", "a load, an add and a store: what is shared loses updates", with_add, NO_PAIRS | LACKS(LOCK)),
	UPDATES("fetch-add", "one atomic instruction", with_fetch_add, NO_PAIRS | LACKS(LOCK)),
	UPDATES("compare-exchange", "again until nobody came in between", with_compare_exchange, NO_PAIRS | LACKS(LOCK)),
	UPDATES("lock", "an increment under a lock", with_lock, NO_PAIRS),
	UPDATES("distance", "words so many bytes apart: how far is far enough", at_distance, LACKS(LAYOUT_OF) | LACKS(LOCK) | LACKS(OPERATIONS) | PAIRS_ONLY,
		.threads = "2,auto"),
	{ .name = "handover", .summary = "a line goes from core to core: core x core", .layout = &handover,
	  .lacks = LACKS(LAYOUT_OF) | LACKS(LOCK) | LACKS(OPERATIONS) | LACKS(DISTANCE) | LACKS(OPERATION), .prepare = prepare, .work = hand_over,
	  .verify = verify_lines, .release = free, .threads = "all", .sample = 1e-4, .bound = BY_COUNT, .meetings = meetings },
	{ 0 }
};

static const struct explained counters[] = {
	{ "PAPI_TOT_CYC|perf::CPU-CYCLES", "an operation's cycles, whatever the frequency was" },
	{ "PAPI_TOT_INS|perf::INSTRUCTIONS", "of a lock, how often it was tried in vain" },
	{ "PAPI_L1_DCM|perf::L1-DCACHE-LOAD-MISSES", "how often the line had gone to another core's cache" },
	{ "MEM_LOAD_L3_HIT_RETIRED:XSNP_FWD|MEM_LOAD_L3_HIT_RETIRED:XSNP_HITM|MEM_LOAD_UOPS_L3_HIT_RETIRED:XSNP_HITM|PAPI_CA_ITV",
	  "loads that another core's changed line served, below the same L3" },
	{ "PAPI_L3_TCM|perf::CACHE-MISSES", "lines that came from beyond the last cache: of another package" },
	{ 0 }
};

const struct benchmark sharing_benchmark = {
	.name = "sharing",
	.summary = "what one cache line costs that several threads update",
	.protocol = "each thread updates its word as fast as it can; scored over the time in which all are at work; a hand-over is half a round trip, or one line of a stream",
	.source = "sestoft2017",
	.unit = "operation",
	.sample = 5e-3,
	.quantile = 0.5,
	.bound = BY_DEADLINE,
	.threads = { "auto", "1..auto*2,auto", "1,2,4,8,16,32,64" },
	.weight = 1,
	.parameters = parameters,
	.metrics = metrics,
	.counters = counters,
	.ratios = ratios,
	.time_first = true,
	.variants = variants,
	.applies = applies,
	.count = count,
	.footprint = footprint,
};
