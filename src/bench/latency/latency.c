/* SPDX-License-Identifier: Apache-2.0 */
/*
 * latency - what one dependent load costs, by how much memory is in use and in which order.
 *
 * A chain of pointers is followed, so that every load waits for the one before. The steps of the
 * curve over the working set are the levels of cache; of one node a page, those of the TLB. After
 * P. Sestoft, "A multicore performance mystery solved" (2017), appendix A, and A. Berestovskyy,
 * "Smarter CPU Testing" (2019).
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/latency/chain.h"
#include "benchmark.h"
#include "kit/loop.h"
#include "machine/limits.h"
#include "kit/opaque.h"
#include "base/sysfs.h"
#include "machine/membind.h"
#include "machine/topology.h"

/* bytes: the largest working set is no smaller, whatever caches a machine admits to */
#define LEAST_TOP (UINT64_C(64) << 20)
/* bytes: larger sets are not sampled in turn, for they would find their cache taken */
#define SHARED_CACHES (UINT64_C(1) << 20)

static uint64_t beyond_caches(const struct machine *, enum profile);

enum { BYTES, PAGES, ELEMENT, STRIDE, CHAINS, LOADS, MIX, PAUSE, FROM, TO };
enum { POINTER, INT };
enum { READ, COPY, WRITE };
static const struct parameter parameters[] = {
	[BYTES] = { "size", "B",
		    "working set; with one node a page, the pages' bytes (auto: 4 times the last "
		    "cache)",
		    P_SIZE, .value = { "4K..64M*2", "1K..auto*1.189207115002721", "8K..128M*2" },
		    .automatic = beyond_caches },
	[PAGES] = { "pages", NULL, "what the buffer is mapped with", P_CHOICE,
		    .choices = PAGES_CHOICES, .value = { "base,thp", NULL, "base" } },
	[ELEMENT] = { "element", NULL, "what a node is: a pointer to the next, or its index",
		      P_CHOICE, .choices = "pointer,int", .value = { "pointer" } },
	[STRIDE] = { "stride", "B", "from a node to its neighbour (0: a cache line)", P_SIZE,
		     .value = { "0" } },
	[CHAINS] = { "chains", "chains", "independent chains followed at once", P_COUNT,
		     .value = { "1" } },
	[LOADS] = { "loads", "loads", "of a sample (0: as many as fill it)", P_COUNT,
		    .value = { "0", NULL, "33554432" } },
	[MIX] = { "mix", NULL, "what the threads in the background do to memory", P_CHOICE,
		  .choices = "read,copy,write", .value = { "read,copy,write" } },
	[PAUSE] = { "pause", "turns",
		    "of an empty loop after each 16 lines in the background: sets its rate (0: at "
		    "full rate)",
		    P_COUNT, .value = { "0,50,100,200,400,800,1600,6400" } },
	[FROM] = { "from", NULL, "node of the thread, in the matrix", P_LAYOUT,
		   .value = { "each" } },
	[TO] = { "to", NULL, "node of the memory, in the matrix", P_NODE, .value = { "all" } },
	{ 0 }
};

enum { TIME, BACKGROUND, NODES };
static const struct metric metrics[] = {
	[TIME] = TIME_METRIC("load"),
	[BACKGROUND] = { "background", "B/s",
			 "lines read and written by the threads in the background",
			 .better = NEITHER },
	[NODES] = { "nodes", "node", "of the chain", .better = NEITHER },
	{ 0 }
};

static const struct role roles[] = { { "chase", 1, BY_COUNT },
				     { "background", 0, BY_DEADLINE },
				     { 0 } };

/* A thread in the background goes over lines of its own, again and again. */
struct stream {
	_Alignas(APART) char *lines;
	size_t bytes, line;
	unsigned mix;
	uint64_t pause;
	struct region *region;
};

struct state {
	struct chain chain;
	bool ints;
	size_t nodes;
	void *base;
	chase *run;
	unsigned chains, loads; /* of a round, all chains together */
	uint64_t done;		/* loads of each chain since the start */
	union position at[MOST_CHAINS];
	unsigned threads;
	struct stream stream[]; /* by worker; the first has none */
};

static size_t stride_of(const struct trial *t)
{
	return t->value[STRIDE].count ? t->value[STRIDE].count : t->machine->line;
}

static struct chain chain_of(const struct trial *t)
{
	return (struct chain){ .pattern = *(const enum pattern *)t->variant->data,
			       .bytes = t->value[BYTES].count,
			       .stride = stride_of(t),
			       .page = t->machine->page,
			       .line = t->machine->line,
			       .seed = t->seed + t->allocation };
}

/* At least 4 times the last cache, and no more than half of what memory there is. */
static uint64_t beyond_caches(const struct machine *m, enum profile profile)
{
	uint64_t top = 4 * m->last_cache > LEAST_TOP ? 4 * m->last_cache : LEAST_TOP;
	struct memory_limit limit = { .available = NO_LIMIT };

	(void)profile;
	if (m->here)
		memory_limit_read(THIS_MACHINE, &limit);
	while (top > limit.available / 2 && top > m->page)
		top /= 2;
	return top;
}

/* Bytes of each background thread's lines: together they, too, are beyond the caches. */
static size_t stream_bytes(const struct trial *t)
{
	size_t each = beyond_caches(t->machine, QUICK) / (t->threads > 1 ? t->threads - 1 : 1);

	return each > (1 << 24) ? each / t->machine->page * t->machine->page : 1 << 24;
}

static bool is_matrix(const struct trial *t)
{
	return !(t->variant->unused & BIT(TO));
}

static bool is_loaded(const struct trial *t)
{
	return !(t->variant->unused & BIT(MIX));
}

/* Starting points: evenly over the cycle. */
static void start(struct state *s)
{
	for (unsigned i = 0; i < s->chains; i++) {
		size_t offset = chain_at(&s->chain, s->nodes / s->chains * i);

		if (s->ints)
			s->at[i].index = offset / sizeof(int);
		else
			s->at[i].node = (char *)s->base + offset;
	}
}

static int map_chain(struct state *s, const struct trial *t)
{
	const int node = is_matrix(t) ? (int)t->value[TO].count : t->place[0].node;
	struct region *region =
		region_map(t->arena, "the chain", s->chain.bytes, t->value[PAGES].choice);

	if (!region)
		return -1;
	s->base = region_base(region);
	region_home(region, 0, s->chain.bytes, node);
	region_user(region, 0, s->chain.bytes, t->place[0].node);
	return is_matrix(t) ? region_bind(region, node) : 0;
}

static int map_stream(struct stream *b, const struct trial *t, unsigned worker, size_t bytes)
{
	b->bytes = bytes;
	b->line = t->machine->line;
	b->mix = t->value[MIX].choice;
	b->pause = t->value[PAUSE].count;
	b->region =
		region_map(t->arena, "lines of the background", b->bytes, t->value[PAGES].choice);
	if (!b->region)
		return -1;
	b->lines = region_base(b->region);
	region_home(b->region, 0, b->bytes, t->place[worker].node);
	region_user(b->region, 0, b->bytes, t->place[worker].node);
	return 0;
}

static void *prepare(const struct trial *t)
{
	const size_t bytes = sizeof(struct state) + t->threads * sizeof(struct stream);
	struct state *s = apart_alloc(bytes);
	size_t each;

	if (!s)
		return NULL;
	s->chain = chain_of(t);
	s->nodes = chain_nodes(&s->chain);
	s->ints = t->value[ELEMENT].choice == INT;
	s->chains = (unsigned)t->value[CHAINS].count;
	s->run = chase_choose(s->chains, s->ints);
	s->loads = chase_loads(s->chains);
	s->threads = t->threads;
	if (map_chain(s, t))
		goto fail;
	/* asked once: what memory there is changes with each that is mapped */
	each = is_loaded(t) ? stream_bytes(t) : 0;
	for (unsigned i = 1; is_loaded(t) && i < t->threads; i++)
		if (map_stream(&s->stream[i], t, i, each))
			goto fail;
	start(s);
	return s;
fail:
	free(s);
	return NULL;
}

/*
 * Touched in order first: the order of the chain would have the kernel hand out pages in that
 * order, and rows of memory with it.
 */
static void enter(void *state, struct worker *self)
{
	struct state *s = state;
	struct stream *b = &s->stream[self->index];

	if (self->index) {
		memset(b->lines, 1, b->bytes);
		return;
	}
	memset(s->base, 0, s->chain.bytes);
	chain_lay(&s->chain, s->base, s->ints, 0, s->nodes);
}

static void follow(struct state *s, struct worker *self)
{
	const uint64_t rounds = (self->count + s->loads - 1) / s->loads;

	s->run(s->at, s->base, rounds);
	s->done += rounds * (s->loads / s->chains);
	self->done = rounds * s->loads;
}

static void wait(uint64_t turns)
{
	for (; turns; turns--)
		OPAQUE(turns);
}

/* One word of each line: what moves is the line. */
static uint64_t read_lines(const char *from, size_t line, size_t n)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += *(const volatile uint64_t *)(from + i * line);
	return sum;
}

static void write_lines(char *to, size_t line, size_t n, uint64_t value)
{
	for (size_t i = 0; i < n; i++)
		*(volatile uint64_t *)(to + i * line) = value + i;
}

/* Copies go from the first half to the second. */
static void disturb(const struct stream *b, struct worker *self)
{
	enum { BLOCK = 16 };
	const size_t half = b->bytes / 2, step = BLOCK * b->line,
		     end = b->mix == COPY ? half : b->bytes;
	uint64_t lines = 0, sum = 0;

	for (size_t at = 0; !time_is_up(self); at = at + 2 * step <= end ? at + step : 0) {
		if (b->mix != WRITE)
			sum += read_lines(b->lines + at, b->line, BLOCK);
		if (b->mix != READ)
			write_lines(b->lines + (b->mix == COPY ? half : 0) + at, b->line, BLOCK,
				    sum);
		lines += b->mix == COPY ? 2 * BLOCK : BLOCK;
		wait(b->pause);
	}
	self->done = lines;
}

static void work(void *state, struct worker *self)
{
	struct state *s = state;

	if (self->role == 0)
		follow(s, self);
	else
		disturb(&s->stream[self->index], self);
}

static void collect(void *state, const struct trial *t, struct result *result)
{
	const struct state *s = state;
	uint64_t lines = 0;

	report(result, NODES, (double)s->nodes);
	for (unsigned i = 1; i < t->threads; i++)
		lines += team_worker(t->team, i)->done;
	if (is_loaded(t))
		report(result, BACKGROUND, (double)(lines * t->machine->line) / elapsed(result));
}

/* Where each chain must stand by now: with a single load astray it would be elsewhere. */
static const char *verify(void *state, const struct trial *t)
{
	const struct state *s = state;

	(void)t;
	for (unsigned i = 0; i < s->chains; i++) {
		size_t offset =
			chain_at(&s->chain, (s->nodes / s->chains * i + s->done) % s->nodes);

		if (s->ints ? s->at[i].index != offset / sizeof(int)
			    : s->at[i].node != (char *)s->base + offset)
			return "a chain did not end where its order says: a load or a link was "
			       "lost";
	}
	return NULL;
}

/*
 * A round, so that what stays in the caches is there; far beyond them there is nothing to warm.
 * Near the last cache it takes two.
 */
static uint64_t warm(const struct trial *t)
{
	const struct chain c = chain_of(t);
	const uint64_t nodes = chain_nodes(&c);

	if (t->machine->last_cache && c.bytes > 2 * t->machine->last_cache)
		return 0;
	return c.bytes > t->machine->last_cache / 2 ? 2 * nodes : nodes;
}

/* NULL: it makes sense. */
static const char *pointless(const struct trial *t)
{
	const struct chain c = chain_of(t);
	const unsigned chains =
		t->value[CHAINS].count <= MOST_CHAINS ? (unsigned)t->value[CHAINS].count : 0;

	if ((t->threads > 1) != is_loaded(t))
		return "only loaded has work for more than one thread, and it needs a second one";
	if (!chase_choose(chains, t->value[ELEMENT].choice == INT))
		return "there are chases of 1, 2, 3, 4, 6, 8, 12, 16, 24 and 32 chains of "
		       "pointers, and of 1 of ints";
	if (c.stride % (t->value[ELEMENT].choice == INT ? sizeof(int) : sizeof(void *)) ||
	    !c.stride || c.stride > c.page)
		return "the stride must hold a node: 8 bytes and a multiple of 8, or 4 of 4 for "
		       "ints, and no more than a page";
	if (t->value[ELEMENT].choice == INT && c.bytes / sizeof(int) > INT32_MAX)
		return "an index must fit an int: at most 8G of ints";
	if (chain_nodes(&c) < (size_t)2 * chains)
		return "the working set has less than two nodes for each chain; choose a larger "
		       "size";
	return NULL;
}

static struct needs needs(const struct trial *t)
{
	const enum pages pages = t->value[PAGES].choice;
	struct needs n = { .pointless = pointless(t) };

	if (n.pointless)
		return n;
	n.bytes = region_takes(t->machine, t->value[BYTES].count, pages) +
		  (t->threads - 1) * region_takes(t->machine, stream_bytes(t), pages);
	n.units = t->value[LOADS].count;
	n.warm = warm(t);
	n.alone = t->value[BYTES].count > SHARED_CACHES || is_loaded(t);
	return n;
}

static const enum pattern cycle = CYCLE, page_cycle = PAGE_CYCLE, page_random = PAGE_RANDOM,
			  page_stride = PAGE_STRIDE, line_stride = LINE_STRIDE;

/*
 * The published settings: Sestoft's ints, packed; Berestovskyy's 16 to 256k nodes, a page and 8
 * bytes apart, as fast as they come.
 */
static const struct override
	cycle_defaults[] = { { ELEMENT, { "pointer", NULL, "int" } },
			     { STRIDE, { "0", NULL, "4" } },
			     { 0 } },
	page_stride_defaults[] = { { BYTES,
				     { "64K..64M*2", "64K..auto*1.189207115002721",
				       "65664..1075838976*2" } },
				   { LOADS, { "0" } },
				   { 0 } },
	page_random_defaults[] = { { BYTES,
				     { "64K..64M*2", "64K..auto*1.189207115002721", "64K..1G*2" } },
				   { LOADS, { "0" } },
				   { 0 } },
	parallel_defaults[] = { { BYTES, { "16K,1M,auto" } },
				{ CHAINS, { "1,2,3,4,6,8,12,16,24,32" } },
				{ LOADS, { "0" } },
				{ PAGES, { "thp" } },
				{ 0 } },
	beyond_defaults[] = { { BYTES, { "auto" } },
			      { LOADS, { "0" } },
			      { PAGES, { "thp" } },
			      { 0 } },
	loaded_defaults[] = { { BYTES, { "auto" } },
			      { LOADS, { "0" } },
			      { PAGES, { "thp" } },
			      { P_THREADS, { "auto" } },
			      { 0 } };

enum {
	LOADED_ONLY = BIT(MIX) | BIT(PAUSE),
	MATRIX_ONLY = BIT(FROM) | BIT(TO),
	NEITHER_OF_THEM = LOADED_ONLY | MATRIX_ONLY
};
static const struct variant variants[] = {
	{ "cycle", "one random cycle through all nodes", &cycle, NEITHER_OF_THEM, cycle_defaults },
	{ "page-cycle", "the same, but one page is used up before the next", &page_cycle,
	  NEITHER_OF_THEM },
	{ "page-random", "one node a page, random pages: the TLB without the caches", &page_random,
	  NEITHER_OF_THEM, page_random_defaults },
	{ "page-stride", "nodes a page and 8 bytes apart, in order: prefetchers may cross pages",
	  &page_stride, NEITHER_OF_THEM, page_stride_defaults },
	{ "line-stride", "neighbouring nodes in order: what the prefetcher gains", &line_stride,
	  NEITHER_OF_THEM },
	{ "parallel", "several random cycles at once: memory-level parallelism", &cycle,
	  NEITHER_OF_THEM, parallel_defaults },
	{ "loaded", "a random cycle while other threads load memory", &cycle, MATRIX_ONLY,
	  loaded_defaults },
	{ "matrix", "a thread on one node, the cycle on another: node x node", &cycle, LOADED_ONLY,
	  beyond_defaults },
	{ 0 }
};

static const struct explained counters[] = {
	{ "PAPI_TOT_CYC|perf::CPU-CYCLES", "a load's cycles, whatever the frequency was" },
	{ "PAPI_L1_DCM|perf::L1-DCACHE-LOAD-MISSES", "loads that the first cache did not serve" },
	{ "PAPI_L2_DCM", "... nor the second" },
	{ "PAPI_L3_TCM|perf::LLC-LOAD-MISSES|perf::CACHE-MISSES", "... nor the last" },
	{ "PAPI_TLB_DM|perf::DTLB-LOAD-MISSES", "loads whose page the TLB did not know" },
	{ 0 }
};

const struct benchmark latency_benchmark = {
	.name = "latency",
	.summary = "what one dependent load costs: the levels of cache and TLB",
	.protocol = "each load gives the address of the next; the chain goes on where the last "
		    "sample stopped",
	.source = "sestoft2017, berestovskyy2019",
	.unit = "load",
	.parameters = parameters,
	.metrics = metrics,
	.counters = counters,
	.variants = variants,
	.ops = { prepare, enter, NULL, work, collect, verify, free },
	.roles = roles,
	.preset = {
		[QUICK] = { "cycle", "1", .sample = 1e-3 },
		[STANDARD] = { "cycle,page-cycle,page-random,page-stride,line-stride,parallel,"
			       "loaded,matrix" },
		[PAPER] = { "cycle,page-stride,page-random" },
	},
	.needs = needs,
};
