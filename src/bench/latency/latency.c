/* SPDX-License-Identifier: Apache-2.0 */
/*
 * latency - cost of one dependent load, by working set and order of accesses.
 *
 * A chain of pointers is followed, so that every load waits for the one before. The plateaus of the
 * curve over the working set are the levels of cache or, with one element a page, of the TLB. After
 * P. Sestoft, "A multicore performance mystery solved" (2017), appendix A, and A.
 * Berestovskyy, "Smarter CPU Testing" (2019).
 */
#include <stdatomic.h>
#include <stdlib.h>

#include "base/relax.h"
#include "bench/latency/latency.h"
#include "bench/latency/chain.h"
#include "kit/events.h"
#include "machine/memory/region.h"
#include "machine/topology/topology.h"

/* POWER has no non-temporal stores. */
#if defined(__x86_64__) || defined(__aarch64__)
#define STORES_USUAL "nontemporal"
#else
#define STORES_USUAL "cached"
#endif

static const struct parameter parameters[] = {
	[BYTES] = { "size", "B",
		    "working set; with one element per page, the size of all pages (auto: 4 times "
		    "the last-level cache)",
		    P_SIZE,
		    .value = { "4K..64M*2,4K..auto*4,auto", "1K..auto*1.189207115002721",
			       "8K..128M*2" },
		    .automatic = beyond_caches },
	[PAGES] = { "pages", NULL, "pages of the buffer", P_CHOICE, .choices = PAGES_CHOICES,
		    .value = { "base,thp", NULL, "base" } },
	[ELEMENT] = { "element", NULL, "type of an element", P_CHOICE, .choices = "pointer,int",
		      .meaning = { "pointer to the next element", "index of the next element" },
		      .value = { "pointer" } },
	[STRIDE] = { "stride", "B", "bytes from an element to its neighbour (0: a cache line)",
		     P_SIZE, .value = { "0" }, .zero = "line" },
	[CHAINS] = { "chains", "chains", "independent chains followed at once", P_COUNT,
		     .value = { "1" } },
	[LOADS] = { "loads", "loads", "loads per sample; 0: as many as --duration allows", P_COUNT,
		    .value = { "0", NULL, "33554432" }, .zero = "auto" },
	[MIX] = { "mix", NULL,
		  "reads to writes of the background threads: 3r1w reads three lines for each line "
		  "it writes",
		  P_CHOICE, .choices = MIX_CHOICES,
		  .value = { "read,1r1w", "read,2r1w,1r1w,write", MIX_CHOICES } },
	[STORES] = { "stores", NULL, "stores of the background threads", P_CHOICE,
		     .choices = "nontemporal,cached",
		     .meaning = { "bypass the caches", "go through the caches" },
		     .value = { STORES_USUAL } },
	[RATE] = { "rate", "GB/s",
		   "bandwidth that all background threads together try to reach; 0: as much as "
		   "possible (auto: 16 per core of a node)",
		   P_COUNT, .value = { "2..auto*4,0", "1..auto*2,0" }, .automatic = most_rate,
		   .zero = "full" },
	[LOAD_BYTES] = { "load-size", "B",
			 "memory of all background threads; 0: 4 times the last-level cache, but "
			 "at least 16 MiB per thread",
			 P_SIZE, .value = { "0" }, .zero = "auto" },
	[FROM] = { "from", NULL, "node of the threads", P_LAYOUT, .value = { "each" } },
	[TO] = { "to", NULL, "node of the memory (default in loaded: the threads' node)", P_NODE,
		 .value = { "all" } },
};

enum { TIME, BACKGROUND, SHARE, ELEMENTS };
static const struct metric metrics[] = {
	[TIME] = TIME_METRIC("load"),
	[BACKGROUND] = { "background", "B/s",
			 "bandwidth of the background threads while the chain is followed",
			 .better = NEITHER_IS_BETTER },
	[SHARE] = { "share", "1",
		    "background bandwidth over the bandwidth that the background reaches alone at "
		    "full rate",
		    .better = NEITHER_IS_BETTER },
	[ELEMENTS] = { "elements", "element", "length of the chain", .better = NEITHER_IS_BETTER },
};

static const struct ratio ratios[] = {
	{ "slowdown", "by address translation on base pages", PAGES, "base", "thp", NULL },
};

static const struct role roles[] = {
	{ "chase", one_worker, BY_COUNT },
	{ "background", NULL, BY_DEADLINE },
};

struct state {
	struct chain chain;
	bool ints;
	size_t elements;
	void *base;
	chase *run;
	unsigned chains, loads; /* loads of a round, over all chains */
	uint64_t done;		/* loads of each chain since the start */
	union position at[MOST_CHAINS];
	struct team *team;
	size_t page;
	/* background threads; 0: they outnumber CPUs, and never all run at once */
	unsigned awaited;
	double most; /* B/s of the background alone, at full rate */
	struct load load;
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

/* The node for a worker's memory. */
static int node_of(const struct trial *t, unsigned worker)
{
	return way_of(t)->placed ? (int)t->value[TO].count : t->place[worker].node;
}

static int map_chain(struct state *s, const struct trial *t)
{
	const int node = node_of(t, 0);
	struct region *region =
		region_map(t->arena, "the chain", s->chain.bytes, t->value[PAGES].choice);

	if (!region)
		return -1;
	s->base = region_base(region);
	region_home(region, 0, s->chain.bytes, node);
	region_user(region, 0, s->chain.bytes, t->place[0].node);
	return node == t->place[0].node ? 0 : region_bind(region, node);
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
	s->team = t->team;
	s->page = t->machine->page;
	s->awaited = t->oversubscribed ? 0 : t->threads - 1;
	if (map_chain(s, t))
		goto fail;
	/* computed once, because available memory shrinks with each mapping */
	each = way_of(t)->loaded ? background_bytes(t) : 0;
	for (unsigned i = 1; way_of(t)->loaded && i < t->threads; i++)
		if (background_map(&s->background[i], t, i, each, node_of(t, i)))
			goto fail;
	for (unsigned i = 0; i < s->chains; i++)
		s->at[i] = position_of(s, i, 0);
	for (unsigned i = 1; way_of(t)->loaded && i < t->threads; i++)
		s->background[i].load = &s->load;
	return s;
fail:
	free(s);
	return NULL;
}

/*
 * Measures the background's bandwidth alone at full rate, as the reference for its load. All
 * workers call this.
 */
static void flood(struct state *s, struct worker *self)
{
	struct background *b = &s->background[self->index];

	team_barrier(s->team);
	if (self->index)
		b->alone = background_flood(b);
	team_barrier(s->team);
	for (unsigned i = 1; i < self->threads && !self->index; i++)
		s->most += s->background[i].alone;
}

/*
 * First touches pages in address order: otherwise the kernel would allocate pages, and so rows of
 * DRAM, in the chain's order.
 */
static void enter(void *state, struct worker *self)
{
	struct state *s = state;

	if (self->index) {
		background_touch(&s->background[self->index], s->page);
	} else {
		for (size_t at = 0; at < s->chain.bytes; at += s->page)
			((volatile char *)s->base)[at] = 0;
		chain_lay(&s->chain, s->base, s->ints, 0, s->elements);
	}
	if (self->threads > 1)
		flood(s, self);
}

static void reset(void *state)
{
	struct state *s = state;

	atomic_store_explicit(&s->load.running, 0, memory_order_relaxed);
	atomic_store_explicit(&s->load.counted, false, memory_order_relaxed);
}

/* The chase begins when the load of all background threads runs. */
static void ready(void *state, struct worker *self)
{
	enum { SPINS = 2000 };
	struct state *s = state;

	if (self->index)
		return;
	for (unsigned turn = 0;
	     atomic_load_explicit(&s->load.running, memory_order_relaxed) < s->awaited; turn++)
		relax(turn, SPINS);
	atomic_store_explicit(&s->load.counted, true, memory_order_relaxed);
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
	double lines = 0, rate;

	report(result, ELEMENTS, (double)s->elements);
	if (!way_of(t)->loaded)
		return;
	for (unsigned i = 1; i < t->threads; i++)
		lines += (double)team_worker(t->team, i)->done;
	rate = lines * (double)t->machine->line / elapsed(result);
	report(result, BACKGROUND, rate);
	report(result, SHARE, rate / s->most);
}

/* Compares each chain's position with the expected one: a single wrong load would change it. */
static const char *verify(void *state, const struct trial *t)
{
	const struct state *s = state;

	(void)t;
	for (unsigned i = 0; i < s->chains; i++) {
		const union position right = position_of(s, i, s->done);

		if (s->ints ? s->at[i].index != right.index : s->at[i].element != right.element)
			return "a chain did not end at the expected element: a load or a link was "
			       "lost";
	}
	return NULL;
}

static const struct way cycle = { PATTERN_CYCLE }, page_cycle = { PATTERN_PAGE_CYCLE },
			page_random = { PATTERN_PAGE_RANDOM },
			page_stride = { PATTERN_PAGE_STRIDE },
			line_stride = { PATTERN_LINE_STRIDE },
			loaded = { PATTERN_CYCLE, .loaded = true, .placed = true },
			matrix = { PATTERN_CYCLE, .placed = true };

/*
 * The published settings: Sestoft's packed ints; Berestovskyy's 16 to 256k elements, a page and 8
 * bytes apart, and both zooms, in steps of 16 and of 256 elements, with as many loads as fill a
 * sample.
 */
static const struct override
	cycle_defaults[] = { { ELEMENT, { "pointer", NULL, "int" } },
			     { STRIDE, { "0", NULL, "4" } } },
	page_stride_defaults[] = { { BYTES,
				     { "64K..64M*2", "64K..auto*1.189207115002721",
				       "65664..1075838976*2,65664..525312+65664,"
				       "3151872..10506240+1050624" } },
				   { LOADS, { "0" } } },
	page_random_defaults[] = { { BYTES,
				     { "64K..64M*2", "64K..auto*1.189207115002721", "64K..1G*2" } },
				   { LOADS, { "0" } },
				   { PAGES, { "base", "base,thp", "base" } } },
	parallel_defaults[] = { { BYTES, { "16K,256K,4M,auto" } },
				{ CHAINS, { "1,2,3,4,6,8,12,16,24,32" } },
				{ LOADS, { "0" } },
				{ PAGES, { "thp" } } },
	beyond_defaults[] = { { BYTES, { "auto" } }, { LOADS, { "0" } }, { PAGES, { "thp" } } },
	loaded_defaults[] = { { BYTES, { "auto" } },  { LOADS, { "0" } },  { PAGES, { "thp" } },
			      { FROM, { "packed" } }, { TO, { "first" } }, { P_THREADS, { "0" } } };

enum {
	LOADED_ONLY = BIT(MIX) | BIT(STORES) | BIT(RATE) | BIT(LOAD_BYTES),
	PLACED_ONLY = BIT(FROM) | BIT(TO),
	NEITHER_OF_THEM = LOADED_ONLY | PLACED_ONLY,
};
static const struct variant variants[] = {
	{ "cycle", "one random cycle through all elements", &cycle, NEITHER_OF_THEM,
	  ROWS(defaults, cycle_defaults) },
	{ "page-cycle", "as cycle, but all elements of a page before the next page", &page_cycle,
	  NEITHER_OF_THEM },
	{ "page-random", "one element per page, in random order: the TLB without the caches",
	  &page_random, NEITHER_OF_THEM, ROWS(defaults, page_random_defaults) },
	{ "page-stride",
	  "elements one page and 8 bytes apart, in order: can prefetchers cross pages?",
	  &page_stride, NEITHER_OF_THEM, ROWS(defaults, page_stride_defaults) },
	{ "line-stride", "neighbouring elements in order: what prefetchers gain", &line_stride,
	  NEITHER_OF_THEM },
	{ "parallel", "several random cycles at once: memory-level parallelism", &cycle,
	  NEITHER_OF_THEM, ROWS(defaults, parallel_defaults) },
	{ "loaded", "one random cycle while other threads load the memory", &loaded,
	  ROWS(defaults, loaded_defaults) },
	{ "matrix", "thread on one node, memory on another: node x node", &matrix, LOADED_ONLY,
	  ROWS(defaults, beyond_defaults) },
};

static const struct explained counters[] = {
	{ EVENT_CYCLES, "cycles per load, independent of the frequency" },
	{ EVENT_L1_MISSES, "loads that miss L1" },
	{ EVENT_L2_MISSES, "loads that miss L2" },
	{ EVENT_L3_LOAD_MISSES, "loads that miss the last-level cache" },
	{ EVENT_TLB_MISSES, "loads that miss the TLB" },
};

const struct benchmark latency_benchmark = {
	.name = "latency",
	.summary = "latency of dependent loads: the levels of cache and TLB",
	.protocol = { 2,
		      "each load gives the address of the next; a sample continues the chain where "
		      "the last one stopped",
		      "sestoft2017, berestovskyy2019" },
	.unit = { "load", .cycles = true },
	ROWS(parameters, parameters),
	ROWS(metrics, metrics),
	ROWS(ratios, ratios),
	ROWS(counters, counters),
	ROWS(variants, variants),
	.ops = { prepare, enter, reset, work, collect, verify, free, ready },
	ROWS(roles, roles),
	.preset = {
		[QUICK] = { "cycle,page-random", "1", .sample = 1e-3 },
		[STANDARD] = { "cycle,page-cycle,page-random,page-stride,line-stride,parallel,"
			       "loaded,matrix" },
		[PAPER] = { "cycle,page-stride,page-random,line-stride" },
	},
	.resolve = latency_resolve,
	.needs = latency_needs,
};
