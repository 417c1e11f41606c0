/* SPDX-License-Identifier: Apache-2.0 */
/*
 * search - lookups in a sorted array: shared by all threads, or partitioned among them, with keys
 * sent to the owner of their range.
 *
 * In the experiment of jsl2023 a dispatcher deals packets of 128 keys to 8 searchers; arrays have
 * 16 KiB to 256 MiB; 5 s a point and 20 repeats. This benchmark breaks down the gain: by where keys
 * go (routed), by the shorter search (divided), by branches (--search). It adds the effect of
 * skewed keys, with two remedies (weighted, stealing); the partitioning of keys without a
 * dispatcher (partitioned); and a tree of cache lines (best).
 */
#include <string.h>

#include "bench/search/searchers.h"
#include "bench/search/search.h"
#include "benchmark.h"
#include "kit/events.h"
#include "machine/clock.h"

static const struct parameter parameters[] = {
	[SIZE_OF_ARRAY] = { "size", "B", "size of the sorted array", P_SIZE,
			    .value = { "64K,4M", "16K..256M*4",
				       "16K,64K,256K,1M,4M,16M,64M,256M" } },
	[TYPE] = { "type", NULL, "keys: unsigned integers of 32 or 64 bits", P_CHOICE,
		   .choices = "u32,u64", .value = { "u32" } },
	[SEARCH] = { "search", NULL, "how a step of the binary search decides", P_CHOICE,
		     .choices = "branchy,branchless",
		     .meaning = { "three-way branches", "conditional moves" },
		     .value = { "branchless", "branchy,branchless", "branchy" } },
	[PACKET] = { "packet", "keys", "keys that are dispatched and searched together", P_COUNT,
		     .value = { "128" } },
	[KEYS] = { "keys", NULL, "distribution of keys", P_CHOICE, .choices = DISTRIBUTION_CHOICES,
		   .meaning = { "all keys equally often",
				"element r of the array with weight 1 / r^skew",
				"the first tenth of the array gets a share of skew" },
		   .value = { "uniform" } },
	[SKEW] = { "skew", NULL,
		   "exponent of zipf keys (0: 1), or share of hot keys (0: 0.9); unused for "
		   "uniform keys",
		   P_REAL, .value = { "0" }, .zero = "none" },
	[PAGES] = { "pages", NULL, "pages of the array and of the tree", P_CHOICE,
		    .choices = PAGES_CHOICES, .value = { "base" } },
};

static const struct ratio ratios[] = {
	{ "gain", "from sending each key to the owner of its range", P_VARIANT, "whole", "divided",
	  "search-time" },
	{ "gain", "from sending each key to the owner of its range, who searches the whole array",
	  P_VARIANT, "whole", "routed", "search-time" },
	{ "gain", "from searching the range instead of the whole array", P_VARIANT, "routed",
	  "divided", "search-time" },
	{ "gain", "from ranges that receive equally many keys", P_VARIANT, "divided", "weighted",
	  "throughput" },
	{ "gain", "from stealing packets", P_VARIANT, "divided", "stealing", "throughput" },
	{ "gain", "from a tree of cache lines", P_VARIANT, "whole", "best", "search-time" },
	{ "gain", "from sending each key to its range's owner, on whose node the range lies",
	  P_VARIANT, "best", "best-partitioned", "throughput" },
	{ "gain", "from conditional moves", SEARCH, "branchy", "branchless", "search-time" },
	{ "speed-up", "by threads", P_THREADS, "fewest", "more", "throughput" },
};

static const struct role flow_roles[] = { { "dispatcher", one_worker, BY_DEADLINE },
					  { "search", NULL, TO_COMPLETION },
},
			 own_roles[] = { { "search", NULL, BY_COUNT } },
			 partitioned_roles[] = { { "search", NULL, TO_COMPLETION } };

static const struct way
	whole = { .kind = FLOW },
	routed = { .kind = FLOW, .by_range = true },
	divided = { .kind = FLOW, .by_range = true, .apart = true },
	weighted = { .kind = FLOW, .by_range = true, .apart = true, .weighted = true },
	stealing = { .kind = FLOW, .by_range = true, .apart = true, .stealing = true },
	partitioned = { .kind = PARTITION, .by_range = true, .apart = true },
	best = { .kind = OWN, .tree = true },
	best_partitioned = { .kind = PARTITION, .by_range = true, .apart = true, .tree = true },
	distributed = { .kind = REMOTE, .by_range = true, .tree = true };

static const char *resolve(const struct trial *t, union value *value, uint64_t given)
{
	/* packets in the rings when time is up are searched, too: so they must be small */
	enum { MOST_PACKET = 1 << 16, MOST_SKEW = 100 };
	static const double skew[] = {
		[DISTRIBUTION_UNIFORM] = 0, [DISTRIBUTION_ZIPF] = 1, [DISTRIBUTION_HOT] = 0.9
	};
	const enum distribution keys = value[KEYS].choice;

	(void)t, (void)given;
	if (!value[PACKET].count || value[PACKET].count > MOST_PACKET)
		return "--packet: 1 to 65536 keys";
	if (value[SKEW].real < 0 || value[SKEW].real > MOST_SKEW)
		return "--skew: 0 to 100";
	if (!(value[SKEW].real > 0) || keys == DISTRIBUTION_UNIFORM)
		value[SKEW].real = skew[keys];
	return keys == DISTRIBUTION_HOT && value[SKEW].real > 1
		       ? "--skew: for hot keys it is a share, at most 1"
		       : NULL;
}

/* A searcher's first touch: its range of the array, its ring and its answers. */
static void enter_searcher(struct state *s, unsigned me)
{
	memset(s->own + me * s->own_stride, 0, s->own_stride);
	ring_open(s->searcher[me].ring, (size_t)s->stream->packet * s->stream->width);
	recipe_fill_array(&s->recipe, s->array, s->first, s->held, piece_begin(s, me),
			  piece_begin(s, me + 1));
}

static void enter(void *state, struct worker *self)
{
	struct state *s = state;
	const unsigned first = self->threads - s->searchers;

	if (self->index < s->streams)
		recipe_fill_stream(&s->recipe, s->stream[self->index].key,
				   s->first_stream + self->index, s->stream[self->index].keys);
	if (self->index >= first)
		enter_searcher(s, self->index - first);
}

static void enter_tree(void *state, struct worker *self)
{
	struct state *s = state;
	struct copy *copy = s->copy;
	double began;

	enter(state, self);
	team_barrier(s->team);
	while (copy < s->copy + s->copies && copy->maker != self->index)
		copy++;
	if (copy == s->copy + s->copies)
		return;
	/* page faults are not part of the build time */
	memset(copy->memory, 0, tree_bytes(s->held, s->recipe.width));
	began = clock_now();
	tree_build(&copy->tree, s->array, s->held, s->recipe.width, copy->memory);
	if (copy == s->copy)
		s->build_time = clock_now() - began;
}

static void enter_partitioned(void *state, struct worker *self)
{
	const struct state *s = state;

	memset(s->partitioned.blocks + self->index * s->partitioned.stride, 0,
	       s->partitioned.stride);
	(s->way->tree ? enter_tree : enter)(state, self);
}

static void enter_remote(void *state, struct worker *self)
{
	struct state *s = state;

	enter_tree(state, self);
	if (self->index)
		return;
	memset(s->remote_memory, 0,
	       remote_bytes(s->ranges.parts, s->remote.threads, s->stream->packet,
			    s->stream->width));
	remote_open(&s->remote, s->remote_memory);
}

static void reset_remote(void *state)
{
	((struct state *)state)->remote.sent = 0;
}

static void reset(void *state)
{
	flow_reset(&((struct state *)state)->flow);
}

static void reset_partitioned(void *state)
{
	partitioned_reset(&((struct state *)state)->partitioned);
}

static void work_flow(void *state, struct worker *self)
{
	struct state *s = state;

	if (self->role == 0)
		self->done = flow_deal(&s->flow, self->stop);
	else
		flow_search(&s->flow, self->index - 1);
}

static void work_partitioned(void *state, struct worker *self)
{
	partitioned_search(&((struct state *)state)->partitioned, self);
}

static void work_best(void *state, struct worker *self)
{
	struct state *s = state;

	best_search(&s->searcher[self->index], s->tree_search, &s->stream[self->index],
		    self->count);
	self->done = self->count;
}

static void work_remote(void *state, struct worker *self)
{
	remote_search(&((struct state *)state)->remote, self, self->count);
	self->done = self->count;
}

static const char *verify(void *state, const struct trial *t)
{
	const struct state *s = state;
	const struct verification c = { .recipe = &s->recipe,
					.array = s->way->kind == REMOTE ? NULL : s->array,
					.stream = s->stream,
					.streams = s->streams,
					.searcher = s->searcher,
					.searchers = s->searchers };

	return search_verify(&c, t->team, t->threads);
}

/* With uniform keys there is no imbalance to remedy: these variants also run with skewed keys. */
static const struct override
	owned_defaults[] = { { KEYS, { "uniform", "uniform,zipf,hot", "uniform" } } },
	best_defaults[] = { { PAGES, { "base,thp" } }, { P_THREADS, { "1,auto" } } },
	partitioned_defaults[] = { { PAGES, { "base,thp" } } },
	distributed_defaults[] = { { PAGES, { "base,thp" } }, { P_THREADS, { "auto" } } };
static const struct ops partitioned_ops = { search_prepare,   enter_partitioned, reset_partitioned,
					    work_partitioned, search_collect,	 verify,
					    search_release },
			best_ops = { search_prepare, enter_tree, NULL,		work_best,
				     search_collect, verify,	 search_release },
			remote_ops = { search_prepare, enter_remote, reset_remote,  work_remote,
				       search_collect, verify,	     search_release };
static const struct variant variants[] = {
	{ "whole", "packets go to searchers in turn; each searches the whole array", &whole },
	{ "routed", "keys go to the owner of their range, who searches the whole array", &routed },
	{ "divided", "keys go to the owner of their range, who searches only that range", &divided,
	  ROWS(defaults, owned_defaults) },
	{ "weighted", "as divided, with ranges that receive equally many keys", &weighted,
	  ROWS(defaults, owned_defaults) },
	{ "stealing", "as divided; a searcher without packets steals from others", &stealing,
	  ROWS(defaults, owned_defaults) },
	{ "partitioned",
	  "no dispatcher: threads partition the keys in place by range; each searches its range",
	  &partitioned, .ops = &partitioned_ops, ROWS(roles, partitioned_roles) },
	{ "best", "a tree of cache lines; each thread searches it for its own keys", &best,
	  .unused = BIT(SEARCH), ROWS(defaults, best_defaults), .ops = &best_ops,
	  ROWS(roles, own_roles) },
	{ "best-partitioned", "as partitioned, but each thread searches the tree",
	  &best_partitioned, .unused = BIT(SEARCH), ROWS(defaults, partitioned_defaults),
	  .ops = &partitioned_ops, ROWS(roles, partitioned_roles) },
	{ "distributed",
	  "a part of the tree on each rank: keys travel to their range's rank, answers back",
	  &distributed, .unused = BIT(SEARCH), ROWS(defaults, distributed_defaults),
	  .ops = &remote_ops, ROWS(roles, own_roles), .divided = true },
};

static const struct explained counters[] = {
	{ EVENT_CYCLES, "cycles per key, summed over all threads, with waiting" },
	{ EVENT_INSTRUCTIONS, "instructions of searching and of waiting" },
	{ EVENT_BRANCH_MISSES,
	  "mispredictions: half the steps of a branchy search, hardly any in a branchless one" },
	{ EVENT_L1_MISSES, "steps that miss L1" },
	{ EVENT_L2_MISSES, "steps that miss L2" },
	{ EVENT_L3_LOAD_MISSES, "steps that miss the last-level cache" },
	{ EVENT_TLB_MISSES, "steps that miss the TLB" },
};

const struct benchmark search_benchmark = {
	.name = "search",
	.summary = "lookups in a sorted array, shared or partitioned among threads",
	.protocol = { 2,
		      "keys are drawn before the clock starts; a dispatcher sends them in packets, "
		      "through a ring to each searcher, until time is up and all are answered; "
		      "without a dispatcher, each thread has its own packets",
		      "jsl2023" },
	.unit = { "packet", .part = "key", .parts = keys_a_unit },
	ROWS(parameters, parameters),
	ROWS(metrics, search_metrics),
	ROWS(counters, counters),
	ROWS(ratios, ratios),
	ROWS(variants, variants),
	.ops = { search_prepare, enter, reset, work_flow, search_collect, verify, search_release },
	ROWS(roles, flow_roles),
	.preset = {
		[QUICK] = { "whole,routed,divided,partitioned,best", "auto", .sample = 10e-3 },
		[STANDARD] = { "whole,routed,divided,weighted,stealing,partitioned,best,"
			       "best-partitioned" },
		[PAPER] = { "whole,divided", "9", .sample = 5, .repeats = 20 },
	},
	.resolve = resolve,
	.needs = search_needs,
};
