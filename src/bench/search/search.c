/* SPDX-License-Identifier: Apache-2.0 */
/*
 * search - a sorted array that is divided among threads, with the keys sent to where they belong,
 * against one that all search.
 *
 * A dispatcher that deals packets of 128 keys to 8 searchers, arrays of 16 KiB to 256 MiB, 5 s a
 * point and 20 repeats: the experiment of jsl2023. Taken apart here: what comes from where the keys
 * go (routed), what from the shorter search (divided), what from branches (--search); what skewed
 * keys do to it, and two cures; and `best`, a tree of cache lines.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/arithmetic.h"
#include "bench/search/check.h"
#include "bench/search/remote.h"
#include "benchmark.h"
#include "kit/shares.h"
#include "machine/clock.h"
#include "machine/topology.h"

enum { SIZE_OF_ARRAY, TYPE, SEARCH, PACKET, KEYS, SKEW, PAGES };
enum { U32, U64 };
static const struct parameter parameters[] = {
	[SIZE_OF_ARRAY] = { "size", "B", "of the sorted array", P_SIZE,
			    .value = { "64K,4M", "16K..256M*4",
				       "16K,64K,256K,1M,4M,16M,64M,256M" } },
	[TYPE] = { "type", NULL, "of keys: unsigned integers of 32 or of 64 bits", P_CHOICE,
		   .choices = "u32,u64", .value = { "u32" } },
	[SEARCH] = { "search", NULL, "each step by branches, three ways, or by a conditional move",
		     P_CHOICE, .choices = "branchy,branchless",
		     .value = { "branchless", "branchy,branchless", "branchy" } },
	[PACKET] = { "packet", "keys", "keys that are dealt, and searched, at once", P_COUNT,
		     .value = { "128" } },
	[KEYS] = { "keys", NULL,
		   "any is as likely; zipf: elements, the r-th of the array as 1 / r^skew; hot: a "
		   "share of skew in the first tenth of the array",
		   P_CHOICE, .choices = DISTRIBUTIONS, .value = { "uniform" } },
	[SKEW] = { "skew", NULL,
		   "exponent of zipf keys, share of hot ones; 0 stands for 1 and for 0.9; uniform "
		   "keys have none",
		   P_REAL, .value = { "0" } },
	[PAGES] = { "pages", NULL, "pages of the array, and of the tree", P_CHOICE,
		    .choices = PAGES_CHOICES, .value = { "base" } },
	{ 0 }
};

/* Share of the searchers' time that is waiting, and of the dispatcher's that is not. */
#define WAITED 0.05

enum {
	SEARCH_TIME,
	KEY_TIME,
	SEARCH_MEDIAN,
	SEARCH_P99,
	SEARCH_DEVIATION,
	THROUGHPUT,
	WAITING,
	HELD_UP,
	DISPATCHER_BOUND,
	IMBALANCE,
	IDLE_SHARE,
	BUILD_TIME,
	OVERHEAD,
	COMMUNICATION,
	WIRE
};
static double keys_a_unit(const struct trial *);
static const struct metric metrics[] = {
	[SEARCH_TIME] = { "search-time", "s", "a packet's, in the search alone", LOWER_IS_BETTER,
			  NULL },
	[KEY_TIME] = { "key-time", "s", "a key's, in the search alone", LOWER_IS_BETTER, NULL },
	[SEARCH_MEDIAN] = { "search-median", "s",
			    "a packet's, in the search alone, that half of them do not exceed",
			    LOWER_IS_BETTER, NULL },
	[SEARCH_P99] = { "search-p99", "s",
			 "a packet's, in the search alone, that 99 of 100 do not exceed",
			 LOWER_IS_BETTER, NULL },
	[SEARCH_DEVIATION] = { "search-deviation", "s",
			       "a packet's, in the search alone: standard deviation from packet to "
			       "packet",
			       LOWER_IS_BETTER, NULL },
	[THROUGHPUT] = { "throughput", "key/s",
			 "keys that all searchers together answered, end to end", HIGHER_IS_BETTER,
			 keys_a_unit },
	[WAITING] = { "waiting", "1", "share of the searchers' time without a packet to search",
		      LOWER_IS_BETTER, NULL },
	[HELD_UP] = { "held-up", "1",
		      "share of the dispatcher's time in which a searcher's ring was full", NEITHER,
		      NULL },
	[DISPATCHER_BOUND] = { "dispatcher-bound", "1",
			       "1 where the dispatcher was too slow: searchers waited more than 5 "
			       "% of their time, and it was held up for less than that; else 0",
			       NEITHER, NULL },
	[IMBALANCE] = { "imbalance", "1",
			"keys of the busiest searcher (of distributed: the busiest rank) over the "
			"mean of all",
			LOWER_IS_BETTER, NULL },
	[IDLE_SHARE] = { "idle", "1",
			 "share of its time that the least busy searcher was without a packet to "
			 "search",
			 LOWER_IS_BETTER, NULL },
	[BUILD_TIME] = { "build-time", "s",
			 "time to build the tree; of partitioned, to group the keys of a sample by "
			 "range",
			 LOWER_IS_BETTER, NULL },
	[OVERHEAD] = { "overhead", "1", "memory of the tree beyond the array's, over the array's",
		       LOWER_IS_BETTER, NULL },
	[COMMUNICATION] = { "communication", "s",
			    "a packet's time in calls to other ranks: of the rank that waits least",
			    LOWER_IS_BETTER, NULL },
	[WIRE] = { "wire", "B", "that a key and its answer take between ranks, on average", NEITHER,
		   NULL },
	TIME_METRIC("packet"),
	{ 0 }
};

static const struct ratio ratios[] = {
	{ "gain", "of each key sent to the owner of its range", P_VARIANT, "whole", "divided",
	  "search-time" },
	{ "gain", "... by where keys go: the owner still searches the whole array", P_VARIANT,
	  "whole", "routed", "search-time" },
	{ "gain", "... by the shorter search", P_VARIANT, "routed", "divided", "search-time" },
	{ "gain", "of ranges cut by the weight of the keys", P_VARIANT, "divided", "weighted",
	  "throughput" },
	{ "gain", "of taking packets from others", P_VARIANT, "divided", "stealing", "throughput" },
	{ "gain", "of a tree of cache lines", P_VARIANT, "whole", "best", "search-time" },
	{ "gain", "of conditional moves", SEARCH, "branchy", "branchless", "search-time" },
	{ "speed-up", "by threads", P_THREADS, "fewest", "more", "throughput" },
	{ 0 }
};

static const struct role flow_roles[] = { { "dispatcher", 1, BY_DEADLINE },
					  { "search", 0, TO_COMPLETION },
					  { 0 } },
			 tree_roles[] = { { "search", 0, BY_COUNT }, { 0 } },
			 partition_roles[] = { { "search", 0, TO_COMPLETION }, { 0 } };

/* What makes a variant. */
struct way {
	enum { FLOW, PARTITION, TREE, REMOTE } kind;
	/* keys go to the owner of their range, which searches nothing else */
	bool by_range, apart;
	bool weighted, stealing;
};
static const struct way
	whole = { .kind = FLOW },
	routed = { .kind = FLOW, .by_range = true },
	divided = { .kind = FLOW, .by_range = true, .apart = true },
	weighted = { .kind = FLOW, .by_range = true, .apart = true, .weighted = true },
	stealing = { .kind = FLOW, .by_range = true, .apart = true, .stealing = true },
	partitioned = { .kind = PARTITION, .by_range = true, .apart = true },
	best = { .kind = TREE }, distributed = { .kind = REMOTE, .by_range = true };

enum {
	/* different ones of a stream: more than a branch predictor knows by heart */
	LEAST_KEYS = 1 << 20,
	BLOCK = 1 << 17,   /* ... that a worker partitions in a sample, about */
	WEIGHED = 1 << 16, /* keys by which ranges are cut */
	LINE = 64,
	/* what is still in the rings when time is up is searched, too */
	MOST_PACKET = 1 << 16,
	MOST_SKEW = 100,
};

struct state {
	struct flow flow;
	const struct way *way;
	struct team *team;
	struct recipe recipe;
	struct ranges ranges;
	struct part *part;
	struct outlet *outlet;
	void *array;
	size_t first, held; /* elements that are here: from which on, and how many */
	size_t padded;	    /* elements, with those behind the end */
	struct stream *stream;
	unsigned streams, first_stream; /* those of this process, of all */
	/* ring, copy of a packet and answers of each searcher, own_stride bytes apart */
	unsigned char *own;
	size_t own_stride;
	/* partitioned */
	uint32_t block; /* packets of each worker in a sample */
	unsigned char *blocks;
	size_t block_stride;
	partition *partition;
	/* of each worker's block: threads + 1, and as many for partition() */
	uint32_t *cuts;
	/* best, distributed */
	struct tree tree;
	tree_search *tree_search;
	void *tree_memory;
	double build_time;
	struct remote remote;
	void *remote_memory;
	struct searcher searcher[];
};

/* ---- sizes ---- */

static const struct way *way_of(const struct trial *t)
{
	return t->variant->data;
}

/* Workers before the searchers. */
static unsigned dispatchers(const struct trial *t)
{
	return way_of(t)->kind == FLOW;
}

static unsigned searchers(const struct trial *t)
{
	return t->threads - dispatchers(t);
}

static unsigned streams(const struct trial *t)
{
	return way_of(t)->kind == FLOW ? 1 : t->threads;
}

static unsigned width_of(const struct trial *t)
{
	return t->value[TYPE].choice == U64 ? sizeof(uint64_t) : sizeof(uint32_t);
}

static size_t elements(const struct trial *t)
{
	return t->value[SIZE_OF_ARRAY].count / width_of(t);
}

static bool has_tree(const struct trial *t)
{
	return way_of(t)->kind == TREE || way_of(t)->kind == REMOTE;
}

/* Elements that a rank holds; rank 0 has as many as any other. */
static size_t held(const struct trial *t, unsigned rank)
{
	return share_size(elements(t), rank, ranks_of(t->ranks));
}

/* What there is room for: all ranks are to refuse alike. */
static size_t padded(const struct trial *t)
{
	return has_tree(t) ? tree_padded(held(t, 0), width_of(t)) : held(t, 0);
}

static double keys_a_unit(const struct trial *t)
{
	return (double)t->value[PACKET].count * streams(t) * ranks_of(t->ranks);
}

/* Packets that a worker partitions in a sample. */
static size_t block_of(const struct trial *t)
{
	const size_t packet = t->value[PACKET].count;

	return packet < BLOCK ? BLOCK / packet : 1;
}

/*
 * So many different keys of all streams together that caches cannot hold what they touch, if they
 * cannot hold the array.
 */
static size_t stream_keys(const struct trial *t)
{
	const size_t packet = t->value[PACKET].count, lines = t->value[SIZE_OF_ARRAY].count / LINE,
		     wanted = 2 * lines / streams(t);

	return round_up(wanted > LEAST_KEYS ? wanted : LEAST_KEYS,
			way_of(t)->kind == PARTITION ? packet * block_of(t) : packet);
}

static size_t packet_room(const struct trial *t)
{
	return t->value[PACKET].count * width_of(t);
}

static size_t own_stride(const struct trial *t)
{
	const size_t packet = t->value[PACKET].count,
		     at_once = way_of(t)->kind == TREE ? packets_at_once((uint32_t)packet) : 1;

	return round_up(ring_bytes(packet_room(t)) + packet_bytes(packet_room(t)) +
				at_once * packet * sizeof(uint32_t),
			t->machine->page);
}

static size_t stream_stride(const struct trial *t)
{
	return round_up(stream_keys(t) * width_of(t), t->machine->page);
}

static size_t block_stride(const struct trial *t)
{
	return way_of(t)->kind == PARTITION
		       ? round_up(block_of(t) * packet_room(t), t->machine->page)
		       : 0;
}

static size_t tree_room(const struct trial *t)
{
	return has_tree(t) ? tree_bytes(held(t, 0), width_of(t)) : 0;
}

static size_t remote_room(const struct trial *t)
{
	return way_of(t)->kind == REMOTE
		       ? remote_bytes(ranks_of(t->ranks), t->threads,
				      (uint32_t)t->value[PACKET].count, width_of(t))
		       : 0;
}

static const char *settle(const struct trial *t, union value *value, uint64_t given)
{
	static const double skew[] = { [UNIFORM] = 0, [ZIPF] = 1, [HOT] = 0.9 };
	const enum distribution keys = value[KEYS].choice;

	(void)t, (void)given;
	if (!value[PACKET].count || value[PACKET].count > MOST_PACKET)
		return "--packet: of 1 to 65536 keys";
	if (value[SKEW].real < 0 || value[SKEW].real > MOST_SKEW)
		return "--skew: 0 to 100";
	if (!(value[SKEW].real > 0) || keys == UNIFORM)
		value[SKEW].real = skew[keys];
	return keys == HOT && value[SKEW].real > 1 ? "--skew: of hot keys it is a share, 1 at most"
						   : NULL;
}

static struct needs needs(const struct trial *t)
{
	const enum pages pages = t->value[PAGES].choice;

	if (way_of(t)->kind == FLOW && t->threads < 2)
		return (struct needs){ .pointless = "a dispatcher and a searcher are two threads" };
	if (elements(t) > UINT32_MAX)
		return (struct needs){ .pointless = "--size: answers are numbers of 32 bits, so "
						    "the array has less than 2^32 elements: "
						    "16 GiB of u32, 32 GiB of u64" };
	if (elements(t) < searchers(t) || elements(t) < ranks_of(t->ranks))
		return (struct needs){
			.pointless =
				"--size: each searcher needs an element at least, and each rank one"
		};
	return (struct needs){
		.bytes = region_takes(t->machine, padded(t) * width_of(t), pages) +
			 (tree_room(t) ? region_takes(t->machine, tree_room(t), pages) : 0) +
			 searchers(t) * own_stride(t) + streams(t) * stream_stride(t) +
			 t->threads * block_stride(t) + remote_room(t),
	};
}

/* ---- memory ---- */

/*
 * One piece for each worker from `first` on, that it touches first; what nobody else uses says so.
 */
static unsigned char *map_pieces(const struct trial *t, const char *name, unsigned first,
				 unsigned pieces, size_t stride, bool used_alone)
{
	struct region *region = region_map(t->arena, name, pieces * stride, PAGES_BASE);

	for (unsigned i = 0; region && i < pieces; i++) {
		region_home(region, i * stride, stride, t->place[first + i].node);
		if (used_alone)
			region_user(region, i * stride, stride, t->place[first + i].node);
	}
	return region ? region_base(region) : NULL;
}

/* The piece of what is here that a searcher touches first: of its own range, or an even share. */
static size_t piece_begin(const struct state *s, unsigned searcher)
{
	if (searcher == s->flow.searchers)
		return s->padded;
	return s->way->kind == REMOTE ? share_begin(s->held, searcher, s->flow.searchers)
				      : s->ranges.begin[searcher];
}

/* Each range is where its owner is, for it touches it first. */
static int map_array(struct state *s, const struct trial *t)
{
	const unsigned width = width_of(t), first = dispatchers(t);
	struct region *region =
		region_map(t->arena, "the array", s->padded * width, t->value[PAGES].choice);

	if (!region)
		return -1;
	s->array = region_base(region);
	for (unsigned i = 0; i < searchers(t); i++) {
		const size_t begin = piece_begin(s, i) * width, end = piece_begin(s, i + 1) * width;

		region_home(region, begin, end - begin, t->place[first + i].node);
		if (s->way->apart)
			region_user(region, begin, end - begin, t->place[first + i].node);
	}
	return 0;
}

/* What worker 0 sets up for all. */
static void *map_common(const struct trial *t, const char *name, size_t bytes, enum pages pages)
{
	struct region *region = region_map(t->arena, name, bytes, pages);

	if (!region)
		return NULL;
	region_home(region, 0, bytes, t->place[0].node);
	return region_base(region);
}

static int map_tree(struct state *s, const struct trial *t)
{
	s->tree_memory = map_common(t, "the tree", tree_room(t), t->value[PAGES].choice);
	if (!s->tree_memory || s->way->kind != REMOTE)
		return s->tree_memory ? 0 : -1;
	s->remote_memory = map_common(t, "keys and answers of ranks", remote_room(t), PAGES_BASE);
	return s->remote_memory ? 0 : -1;
}

static int map(struct state *s, const struct trial *t)
{
	unsigned char *keys;

	s->own_stride = own_stride(t);
	s->own = map_pieces(t, "packets and answers", dispatchers(t), searchers(t), s->own_stride,
			    false);
	keys = map_pieces(t, "streams of keys", 0, s->streams, stream_stride(t), true);
	if (!s->own || !keys || map_array(s, t) || (has_tree(t) && map_tree(s, t)))
		return -1;
	for (unsigned i = 0; i < s->streams; i++)
		s->stream[i] = (struct stream){ .key = keys + i * stream_stride(t),
						.keys = stream_keys(t),
						.packet = (uint32_t)t->value[PACKET].count,
						.width = width_of(t) };
	if (s->way->kind != PARTITION)
		return 0;
	s->block = (uint32_t)block_of(t);
	s->block_stride = block_stride(t);
	s->blocks = map_pieces(t, "keys to be partitioned", 0, t->threads, s->block_stride, false);
	return s->blocks ? 0 : -1;
}

/* ---- the life of a trial ---- */

static void release(void *state)
{
	struct state *s = state;

	ranges_free(&s->ranges);
	free(s->part);
	free(s->outlet);
	free(s->stream);
	free(s->cuts);
	free(s);
}

static struct state *allocate(const struct trial *t)
{
	struct state *s = apart_alloc(sizeof(*s) + searchers(t) * sizeof(*s->searcher));

	if (!s)
		return NULL;
	s->part = apart_alloc(searchers(t) * sizeof(*s->part));
	s->outlet = apart_alloc(searchers(t) * sizeof(*s->outlet));
	s->stream = apart_alloc(streams(t) * sizeof(*s->stream));
	s->cuts =
		way_of(t)->kind == PARTITION
			? apart_alloc((size_t)t->threads * (t->threads + 1) * 2 * sizeof(*s->cuts))
			: NULL;
	if (s->part && s->outlet && s->stream && (s->cuts || way_of(t)->kind != PARTITION))
		return s;
	release(s);
	return NULL;
}

static int cut(struct state *s, const struct trial *t)
{
	const unsigned parts = s->way->kind == REMOTE ? ranks_of(t->ranks) : searchers(t);

	return s->way->weighted ? ranges_weighted(&s->ranges, &s->recipe, parts, 0, WEIGHED)
				: ranges_even(&s->ranges, &s->recipe, parts);
}

/* For the widest vectors. */
static tree_search *choose_searcher(unsigned width)
{
	tree_search *found = NULL;

	for (unsigned set = INSTRUCTION_SETS; !found && set-- > 0;)
		if (instruction_set_usable(set))
			found = tree_searcher(width, set);
	return found;
}

/* The kernels of this trial: chosen once, so that none asks. */
static void choose(struct state *s, const struct trial *t)
{
	static search *const searches[][2] = { { search_branchy_32, search_branchy_64 },
					       { search_branchless_32, search_branchless_64 } };
	static deal *const by_range[] = { deal_by_range_32, deal_by_range_64 };
	static partition *const partitions[] = { partition_32, partition_64 };
	const unsigned type = t->value[TYPE].choice;

	s->partition = partitions[type];
	s->tree_search = choose_searcher(width_of(t));
	s->flow.search = searches[t->value[SEARCH].choice][type];
	s->flow.take = s->way->stealing ? take_any : take_own;
	s->flow.deal = s->way->by_range ? by_range[type] : deal_in_turn;
	s->flow.part = s->part;
	s->flow.searcher = s->searcher;
	s->flow.dealer = (struct dealer){ .stream = s->stream,
					  .ranges = &s->ranges,
					  .outlets = searchers(t),
					  .outlet = s->outlet };
}

static void lay_out(struct state *s, unsigned searchers)
{
	const struct stream *stream = s->stream;
	const size_t keys = (size_t)stream->packet * stream->width;

	for (unsigned i = 0; i < searchers; i++) {
		unsigned char *own = s->own + i * s->own_stride;
		const size_t begin = s->way->apart ? s->ranges.begin[i] : 0,
			     end = s->way->apart ? s->ranges.begin[i + 1] : s->recipe.n;

		s->part[i] = (struct part){ (const unsigned char *)s->array + begin * stream->width,
					    end - begin, (uint32_t)begin };
		s->searcher[i] = (struct searcher){
			.ring = (struct ring *)own,
			.copy = (struct packet *)(own + ring_bytes(keys)),
			.answers = (uint32_t *)(own + ring_bytes(keys) + packet_bytes(keys))
		};
		s->outlet[i].ring = s->searcher[i].ring;
	}
}

static void *prepare(const struct trial *t)
{
	struct state *s = allocate(t);

	if (!s)
		return NULL;
	s->way = way_of(t);
	s->team = t->team;
	s->streams = streams(t);
	s->flow.searchers = searchers(t);
	s->padded = padded(t);
	s->held = held(t, rank_of(t->ranks));
	s->first = share_begin(elements(t), rank_of(t->ranks), ranks_of(t->ranks));
	s->first_stream = rank_of(t->ranks) * s->streams;
	s->recipe = recipe_of(t->seed, elements(t), width_of(t), t->value[KEYS].choice,
			      t->value[SKEW].real);
	if (cut(s, t) || map(s, t)) {
		release(s);
		return NULL;
	}
	choose(s, t);
	lay_out(s, searchers(t));
	s->remote = (struct remote){ .ranks = t->ranks,
				     .team = t->team,
				     .ranges = &s->ranges,
				     .tree = &s->tree,
				     .search = s->tree_search,
				     .partition = s->partition,
				     .stream = s->stream,
				     .searcher = s->searcher,
				     .threads = t->threads };
	return s;
}

/* A searcher's own: its range of the array, its ring and its answers. */
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
	const unsigned first = self->threads - s->flow.searchers;

	if (self->index < s->streams)
		recipe_fill_stream(&s->recipe, s->stream[self->index].key,
				   s->first_stream + self->index, s->stream[self->index].keys);
	if (self->index >= first)
		enter_searcher(s, self->index - first);
	if (s->blocks)
		memset(s->blocks + self->index * s->block_stride, 0, s->block_stride);
}

static void enter_tree(void *state, struct worker *self)
{
	struct state *s = state;
	double began;

	enter(state, self);
	team_barrier(s->team);
	if (self->index)
		return;
	/* the kernel's part of it is not the building */
	memset(s->tree_memory, 0, tree_bytes(s->held, s->recipe.width));
	began = clock_now();
	tree_build(&s->tree, s->array, s->held, s->recipe.width, s->tree_memory);
	s->build_time = clock_now() - began;
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
	struct state *s = state;

	flow_reset(&s->flow);
}

static void restore(void *state, struct worker *self)
{
	struct state *s = state;
	struct stream *stream = &s->stream[self->index];

	memcpy(s->blocks + self->index * s->block_stride, stream_next(stream),
	       (size_t)s->block * stream->packet * stream->width);
	stream_go_on(stream, s->block);
}

/* What a sample partitions is in no order before it: the next keys of the stream. */
static void reset_blocks(void *state)
{
	team_run(((struct state *)state)->team, restore, state);
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
	struct state *s = state;
	struct searcher *me = &s->searcher[self->index];
	const uint32_t packet = s->stream->packet;
	const unsigned width = s->stream->width, threads = self->threads;
	uint32_t *cuts = s->cuts + (size_t)self->index * 2 * (threads + 1);

	me->tally = (struct tally){ .began = clock_ticks() };
	me->last = NULL; /* other keys are there now */
	s->partition(s->blocks + self->index * s->block_stride, (size_t)s->block * packet,
		     &s->ranges, cuts, cuts + threads + 1);
	team_barrier(s->team);
	me->tally.partitioning = clock_ticks() - me->tally.began;
	for (unsigned i = 0; i < threads; i++) {
		/* not all at the same block */
		const unsigned from =
			self->index + i < threads ? self->index + i : self->index + i - threads;
		const uint32_t *range = s->cuts + (size_t)from * 2 * (threads + 1) + self->index;

		search_block(me, s->flow.search, &s->part[self->index], width, packet,
			     s->blocks + from * s->block_stride + (size_t)range[0] * width,
			     range[1] - range[0]);
	}
	me->tally.ended = clock_ticks();
	self->done = s->block;
}

static void work_tree(void *state, struct worker *self)
{
	struct state *s = state;
	struct searcher *me = &s->searcher[self->index];

	me->tally = (struct tally){ .began = clock_ticks() };
	search_tree(me, &s->tree, s->tree_search, &s->stream[self->index], self->count);
	me->tally.ended = clock_ticks();
	self->done = self->count;
}

static void work_remote(void *state, struct worker *self)
{
	struct state *s = state;
	struct tally *tally = &s->searcher[self->index].tally;

	*tally = (struct tally){ .began = clock_ticks() };
	remote_search(&s->remote, self, self->count);
	tally->ended = clock_ticks();
	self->done = self->count;
}

/* ---- results ---- */

/* What a tick of a searcher's CPU was in this sample: the harness's clock saw the same stretch. */
static double s_per_tick(const struct state *s, const struct trial *t, unsigned searcher)
{
	const struct attendance *a = team_attendance(t->team, dispatchers(t) + searcher);
	const struct tally *tally = &s->searcher[searcher].tally;

	return (a->end - a->begin) / (double)(tally->ended - tally->began);
}

/* The sums over all searchers, and who stands out. */
struct totals {
	double searching, waited, most_waited, partitioned; /* s; shares; s of the longest */
	uint64_t keys, most_keys;
	struct packet_times packet;
};

static struct totals add_up(const struct state *s, const struct trial *t)
{
	const unsigned n = searchers(t);
	const struct tally **tally = calloc(n, sizeof(*tally));
	double *tick = calloc(n, sizeof(*tick));
	struct totals sum = { 0 };

	for (unsigned i = 0; tally && tick && i < n; i++) {
		const struct tally *one = tally[i] = &s->searcher[i].tally;
		const double waited = (double)one->waiting / (double)(one->ended - one->began);

		tick[i] = s_per_tick(s, t, i);
		sum.searching += (double)one->searching * tick[i];
		sum.waited += waited / n;
		sum.most_waited = fmax(sum.most_waited, waited);
		sum.partitioned = fmax(sum.partitioned, (double)one->partitioning * tick[i]);
		sum.keys += one->keys;
		sum.most_keys = one->keys > sum.most_keys ? one->keys : sum.most_keys;
	}
	if (tally && tick)
		sum.packet = tally_times(tally, tick, n);
	free(tally);
	free(tick);
	return sum;
}

static void collect_flow(const struct state *s, const struct totals *sum, struct result *result)
{
	const double held = (double)s->flow.dealer.held / (double)(s->flow.ended - s->flow.began);

	report(result, WAITING, sum->waited);
	report(result, HELD_UP, held);
	report(result, DISPATCHER_BOUND, sum->waited > WAITED && held < WAITED);
	report(result, IDLE_SHARE, sum->most_waited);
}

/* Of all ranks, for any may search another's keys. */
static void collect_remote(struct state *s, const struct trial *t, const struct totals *here,
			   struct result *result)
{
	int64_t of_all[] = { llround(here->searching * 1e9), (int64_t)here->keys,
			     (int64_t)s->remote.sent };
	double busiest = (double)here->keys;

	if (t->ranks) {
		t->ranks->sum(of_all, sizeof(of_all) / sizeof(*of_all));
		t->ranks->most(&busiest, 1);
	}
	report(result, SEARCH_TIME,
	       (double)of_all[0] * 1e-9 / (double)of_all[1] * (double)t->value[PACKET].count);
	report(result, KEY_TIME, (double)of_all[0] * 1e-9 / (double)of_all[1]);
	report(result, IMBALANCE, busiest * ranks_of(t->ranks) / (double)of_all[1]);
	report(result, BUILD_TIME, s->build_time);
	report(result, COMMUNICATION, communicated(result) / (double)team_worker(t->team, 0)->done);
	report(result, WIRE, (double)of_all[2] / (double)of_all[1]);
}

static void collect(void *state, const struct trial *t, struct result *result)
{
	struct state *s = state;
	const struct totals sum = add_up(s, t);
	const double keys = (double)sum.keys, bytes = (double)s->recipe.n * s->recipe.width;

	if (s->way->kind == REMOTE) {
		collect_remote(s, t, &sum, result);
		return;
	}
	report(result, SEARCH_TIME, sum.searching / keys * (double)t->value[PACKET].count);
	report(result, KEY_TIME, sum.searching / keys);
	if (s->way->kind != TREE) { /* which is searched for many packets at once, by all alike */
		report(result, SEARCH_MEDIAN, sum.packet.median);
		report(result, SEARCH_P99, sum.packet.p99);
		report(result, SEARCH_DEVIATION, sum.packet.deviation);
		report(result, IMBALANCE, (double)sum.most_keys * searchers(t) / keys);
	}
	if (s->way->kind == FLOW)
		collect_flow(s, &sum, result);
	if (s->way->kind == PARTITION)
		report(result, BUILD_TIME, sum.partitioned);
	if (s->way->kind == TREE) {
		report(result, BUILD_TIME, s->build_time);
		report(result, OVERHEAD,
		       ((double)s->padded * s->recipe.width + (double)tree_room(t)) / bytes - 1);
	}
}

static const char *verify(void *state, const struct trial *t)
{
	const struct state *s = state;
	const struct check c = { .recipe = &s->recipe,
				 .array = s->way->kind == REMOTE ? NULL : s->array,
				 .stream = s->stream,
				 .streams = s->streams,
				 .searcher = s->searcher,
				 .searchers = searchers(t) };

	return check(&c, t->team, t->threads);
}

/* Of even keys there is nothing to cure. */
static const struct override
	owned_defaults[] = { { KEYS, { "uniform", "uniform,zipf,hot", "uniform" } }, { 0 } },
	best_defaults[] = { { PAGES, { "base,thp" } }, { P_THREADS, { "1,auto" } }, { 0 } },
	distributed_defaults[] = { { PAGES, { "base,thp" } }, { P_THREADS, { "auto" } }, { 0 } };
static const struct
	ops partition_ops = { prepare, enter,  reset_blocks, work_partitioned,
			      collect, verify, release },
	    tree_ops = { prepare, enter_tree, NULL, work_tree, collect, verify, release },
	    remote_ops = { prepare, enter_remote, reset_remote, work_remote,
			   collect, verify,	  release };
static const struct variant variants[] = {
	{ "whole", "keys are dealt in turn; each searcher searches the whole array", &whole },
	{ "routed", "keys go to the owner of their range, which still searches the whole array",
	  &routed },
	{ "divided", "keys go to the owner of their range, which searches that alone", &divided,
	  .defaults = owned_defaults },
	{ "weighted", "as divided, with ranges cut so that each has as many of the keys", &weighted,
	  .defaults = owned_defaults },
	{ "stealing", "as divided; a searcher without packets takes those of others", &stealing,
	  .defaults = owned_defaults },
	{ "partitioned",
	  "no dispatcher: all threads partition the keys in place by range, and each searches its "
	  "own",
	  &partitioned, .ops = &partition_ops, .roles = partition_roles },
	{ "best", "a tree of cache lines, which each thread searches for keys of its own", &best,
	  BIT(SEARCH), best_defaults, &tree_ops, tree_roles },
	{ "distributed",
	  "the tree in parts, one a rank: keys travel to the rank of their range, and answers back",
	  &distributed, BIT(SEARCH), distributed_defaults, &remote_ops, tree_roles,
	  .divided = true },
	{ 0 }
};

static const struct explained counters[] = {
	{ "PAPI_TOT_CYC|perf::CPU-CYCLES",
	  "a key's cycles, of all threads, those included that they wait in loops" },
	{ "PAPI_TOT_INS|perf::INSTRUCTIONS", "steps of the search, and of loops that wait" },
	{ "PAPI_BR_MSP|perf::BRANCH-MISSES",
	  "wrong guesses: half the steps of a branchy search, hardly any of a branchless one" },
	{ "PAPI_L1_DCM|perf::L1-DCACHE-LOAD-MISSES", "steps that the first cache did not serve" },
	{ "PAPI_L2_DCM", "... nor the second" },
	{ "PAPI_L3_TCM|perf::LLC-LOAD-MISSES|perf::CACHE-MISSES", "... nor the last" },
	{ "PAPI_TLB_DM|perf::DTLB-LOAD-MISSES", "steps whose page the TLB did not know" },
	{ 0 }
};

const struct benchmark search_benchmark = {
	.name = "search",
	.summary = "lookups in a sorted array: shared by all threads, or partitioned among them",
	.protocol = "keys are drawn before the clock starts; a dispatcher deals them in packets, "
		    "through a ring to each searcher, until time is up and all are answered; "
		    "without a dispatcher, each thread has packets of its own",
	.source = "jsl2023",
	.unit = "packet",
	.parameters = parameters,
	.metrics = metrics,
	.counters = counters,
	.part = { "key", keys_a_unit },
	.ratios = ratios,
	.variants = variants,
	.ops = { prepare, enter, reset, work_flow, collect, verify, release },
	.roles = flow_roles,
	.preset = {
		[QUICK] = { "whole,routed,divided,partitioned,best", "auto", .sample = 10e-3 },
		[STANDARD] = { "whole,routed,divided,weighted,stealing,partitioned,best" },
		[PAPER] = { "whole,divided", "9", .sample = 5, .repeats = 20 },
	},
	.settle = settle,
	.needs = needs,
};
