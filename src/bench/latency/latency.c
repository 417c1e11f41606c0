/* SPDX-License-Identifier: Apache-2.0 */
/*
 * latency - cost of one dependent load, by working set and order of accesses.
 *
 * A chain of pointers is followed, so that every load waits for the one before. The plateaus of the
 * curve over the working set are the levels of cache; with one element a page, those of the TLB.
 * After P. Sestoft, "A multicore performance mystery solved" (2017), appendix A, and A.
 * Berestovskyy, "Smarter CPU Testing" (2019).
 */
#include <stdlib.h>
#include <string.h>

#include "bench/latency/background.h"
#include "bench/latency/chase.h"
#include "bench/latency/sizes.h"
#include "kit/events.h"
#include "machine/memory/membind.h"
#include "machine/topology/topology.h"

static const struct parameter parameters[] = {
	[BYTES] = { "size", "B",
		    "working set; with one element a page, the pages' bytes (auto: 4 times the "
		    "last cache)",
		    P_SIZE, .value = { "4K..64M*2", "1K..auto*1.189207115002721", "8K..128M*2" },
		    .automatic = beyond_caches },
	[PAGES] = { "pages", NULL, "pages of the buffer", P_CHOICE, .choices = PAGES_CHOICES,
		    .value = { "base,thp", NULL, "base" } },
	[ELEMENT] = { "element", NULL, "what an element is: a pointer to the next, or its index",
		      P_CHOICE, .choices = "pointer,int", .value = { "pointer" } },
	[STRIDE] = { "stride", "B", "bytes from an element to its neighbour (0: a cache line)",
		     P_SIZE, .value = { "0" }, .zero = "line" },
	[CHAINS] = { "chains", "chains", "independent chains followed at once", P_COUNT,
		     .value = { "1" } },
	[LOADS] = { "loads", "loads", "loads in a sample; 0: as many as it has time for", P_COUNT,
		    .value = { "0", NULL, "33554432" }, .zero = "auto" },
	[MIX] = { "mix", NULL, "what the background threads do to memory", P_CHOICE,
		  .choices = "read,copy,write", .value = { "read,copy,write" } },
	[PAUSE] = { "pause", "turns",
		    "turns of an empty loop after each 16 lines in the background: sets its rate "
		    "(0: full rate)",
		    P_COUNT, .value = { "0,50,100,200,400,800,1600,6400" }, .zero = "none" },
	[FROM] = { "from", NULL, "node of the thread, in the matrix", P_LAYOUT,
		   .value = { "each" } },
	[TO] = { "to", NULL, "node of the memory, in the matrix", P_NODE, .value = { "all" } },
	{ 0 }
};

enum { TIME, BACKGROUND, ELEMENTS };
static const struct metric metrics[] = {
	[TIME] = TIME_METRIC("load"),
	[BACKGROUND] = { "background", "B/s",
			 "bandwidth of the background threads' reads and writes",
			 .better = NEITHER_IS_BETTER },
	[ELEMENTS] = { "elements", "element", "elements of the chain",
		       .better = NEITHER_IS_BETTER },
	{ 0 }
};

static const struct role roles[] = { { "chase", one_worker, BY_COUNT },
				     { "background", NULL, BY_DEADLINE },
				     { 0 } };

struct state {
	struct chain chain;
	bool ints;
	size_t elements;
	void *base;
	chase *run;
	unsigned chains, loads; /* loads: of a round, of all chains */
	uint64_t done;		/* loads of each chain since the start */
	union position at[MOST_CHAINS];
	struct background background[]; /* by worker; the first has none */
};

/* A chain's position after `loads` loads. Chains start evenly spread over the cycle. */
static union position position_of(const struct state *s, unsigned chain, uint64_t loads)
{
	const size_t offset =
		chain_at(&s->chain, (s->elements / s->chains * chain + loads) % s->elements);

	return s->ints ? (union position){ .index = offset / sizeof(int) }
		       : (union position){ .element = (char *)s->base + offset };
}

static int map_chain(struct state *s, const struct trial *t)
{
	const int node = way_of(t)->matrix ? (int)t->value[TO].count : t->place[0].node;
	struct region *region =
		region_map(t->arena, "the chain", s->chain.bytes, t->value[PAGES].choice);

	if (!region)
		return -1;
	s->base = region_base(region);
	region_home(region, 0, s->chain.bytes, node);
	region_user(region, 0, s->chain.bytes, t->place[0].node);
	return way_of(t)->matrix ? region_bind(region, node) : 0;
}

static void *prepare(const struct trial *t)
{
	const size_t bytes = sizeof(struct state) + t->threads * sizeof(struct background);
	struct state *s = apart_alloc(bytes);
	size_t each;

	if (!s)
		return NULL;
	s->chain = chain_of(t);
	s->elements = chain_elements(&s->chain);
	s->ints = t->value[ELEMENT].choice == INT;
	s->chains = (unsigned)t->value[CHAINS].count;
	s->run = chase_choose(s->chains, s->ints);
	s->loads = chase_loads(s->chains);
	if (map_chain(s, t))
		goto fail;
	/* asked once, because available memory shrinks with each mapping */
	each = way_of(t)->loaded ? background_bytes(t) : 0;
	for (unsigned i = 1; way_of(t)->loaded && i < t->threads; i++)
		if (background_map(&s->background[i], t, i, each))
			goto fail;
	for (unsigned i = 0; i < s->chains; i++)
		s->at[i] = position_of(s, i, 0);
	return s;
fail:
	free(s);
	return NULL;
}

/*
 * Touches pages in address order first: else the kernel would allocate pages, and so rows of DRAM,
 * in the chain's order.
 */
static void enter(void *state, struct worker *self)
{
	struct state *s = state;
	const struct background *b = &s->background[self->index];

	if (self->index) {
		memset(b->lines, 1, b->bytes);
		return;
	}
	memset(s->base, 0, s->chain.bytes);
	chain_lay(&s->chain, s->base, s->ints, 0, s->elements);
}

static void follow(struct state *s, struct worker *self)
{
	const uint64_t rounds = (self->count + s->loads - 1) / s->loads;

	s->run(s->at, s->base, rounds);
	s->done += rounds * (s->loads / s->chains);
	self->done = rounds * s->loads;
}

static void work(void *state, struct worker *self)
{
	struct state *s = state;

	if (self->role == 0)
		follow(s, self);
	else
		background_work(&s->background[self->index], self);
}

static void collect(void *state, const struct trial *t, struct result *result)
{
	const struct state *s = state;
	uint64_t lines = 0;

	report(result, ELEMENTS, (double)s->elements);
	for (unsigned i = 1; i < t->threads; i++)
		lines += team_worker(t->team, i)->done;
	if (way_of(t)->loaded)
		report(result, BACKGROUND, (double)(lines * t->machine->line) / elapsed(result));
}

/* Compares each chain's position with the expected one: a single wrong load would change it. */
static const char *verify(void *state, const struct trial *t)
{
	const struct state *s = state;

	(void)t;
	for (unsigned i = 0; i < s->chains; i++) {
		const union position right = position_of(s, i, s->done);

		if (s->ints ? s->at[i].index != right.index : s->at[i].element != right.element)
			return "a chain did not end where its order says: a load or a link was "
			       "lost";
	}
	return NULL;
}

static const struct way cycle = { PATTERN_CYCLE }, page_cycle = { PATTERN_PAGE_CYCLE },
			page_random = { PATTERN_PAGE_RANDOM },
			page_stride = { PATTERN_PAGE_STRIDE },
			line_stride = { PATTERN_LINE_STRIDE },
			loaded = { PATTERN_CYCLE, .loaded = true },
			matrix = { PATTERN_CYCLE, .matrix = true };

/*
 * The published settings: Sestoft's packed ints; Berestovskyy's 16 to 256k elements, a page and 8
 * bytes apart, and both zooms, in steps of 16 and of 256 elements, with as many loads as fill a
 * sample.
 */
static const struct override
	cycle_defaults[] = { { ELEMENT, { "pointer", NULL, "int" } },
			     { STRIDE, { "0", NULL, "4" } },
			     { 0 } },
	page_stride_defaults[] = { { BYTES,
				     { "64K..64M*2", "64K..auto*1.189207115002721",
				       "65664..1075838976*2,65664..525312+65664,"
				       "3151872..10506240+1050624" } },
				   { LOADS, { "0" } },
				   { 0 } },
	page_random_defaults[] = { { BYTES,
				     { "64K..64M*2", "64K..auto*1.189207115002721", "64K..1G*2" } },
				   { LOADS, { "0" } },
				   { PAGES, { "base", "base,thp", "base" } },
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
	NEITHER_OF_THEM = LOADED_ONLY | MATRIX_ONLY,
};
static const struct variant variants[] = {
	{ "cycle", "one random cycle through all elements", &cycle, NEITHER_OF_THEM,
	  cycle_defaults },
	{ "page-cycle", "as cycle, but a page is used up before the next", &page_cycle,
	  NEITHER_OF_THEM },
	{ "page-random", "one element a page, random pages: the TLB without the caches",
	  &page_random, NEITHER_OF_THEM, page_random_defaults },
	{ "page-stride", "elements a page and 8 bytes apart, in order: prefetchers may cross pages",
	  &page_stride, NEITHER_OF_THEM, page_stride_defaults },
	{ "line-stride", "neighbouring elements in order: what the prefetcher gains", &line_stride,
	  NEITHER_OF_THEM },
	{ "parallel", "several random cycles at once: memory-level parallelism", &cycle,
	  NEITHER_OF_THEM, parallel_defaults },
	{ "loaded", "a random cycle while other threads load memory", &loaded, MATRIX_ONLY,
	  loaded_defaults },
	{ "matrix", "a thread on one node, the cycle on another: node x node", &matrix, LOADED_ONLY,
	  beyond_defaults },
	{ 0 }
};

static const struct explained counters[] = {
	{ EVENT_CYCLES, "a load's cycles, whatever the frequency was" },
	{ EVENT_L1_MISSES, "loads that miss L1" },
	{ EVENT_L2_MISSES, "loads that miss L2" },
	{ EVENT_L3_LOAD_MISSES, "loads that miss the last-level cache" },
	{ EVENT_TLB_MISSES, "loads that miss the TLB" },
	{ 0 }
};

const struct benchmark latency_benchmark = {
	.name = "latency",
	.summary = "latency of dependent loads: the levels of cache and TLB",
	.protocol = { 2,
		      "each load gives the address of the next; the chain goes on where the last "
		      "sample stopped",
		      "sestoft2017, berestovskyy2019" },
	.unit = { "load", .cycles = true },
	.parameters = parameters,
	.metrics = metrics,
	.counters = counters,
	.variants = variants,
	.ops = { prepare, enter, NULL, work, collect, verify, free },
	.roles = roles,
	.preset = {
		[QUICK] = { "cycle,page-random", "1", .sample = 1e-3 },
		[STANDARD] = { "cycle,page-cycle,page-random,page-stride,line-stride,parallel,"
			       "loaded,matrix" },
		[PAPER] = { "cycle,page-stride,page-random,line-stride" },
	},
	.needs = latency_needs,
};
