/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "bench/search/search.h"
#include "kit/pool.h"
#include "kit/shares.h"
#include "base/apart.h"

enum { WEIGHED = 1 << 16 }; /* number of keys from which weighted ranges are estimated */

void search_release(void *state)
{
	struct state *s = state;

	ranges_free(&s->ranges);
	free(s->part);
	free(s->outlet);
	free(s->copy);
	free(s->stream);
	free(s->partitioned.cuts);
	free(s->times);
	free(s);
}

static struct state *allocate(const struct trial *t)
{
	const size_t searchers = searchers_of(t), cuts = 2 * ((size_t)t->threads + 1);
	const bool partitions = way_of(t)->kind == PARTITION;
	struct state *s = apart_alloc(sizeof(*s) + searchers * sizeof(*s->searcher));

	if (!s)
		return NULL;
	s->part = apart_alloc(searchers * sizeof(*s->part));
	s->outlet = apart_alloc(searchers * sizeof(*s->outlet));
	s->stream = apart_alloc(streams_of(t) * sizeof(*s->stream));
	if (has_tree(t))
		s->copy = apart_alloc(copies_of(t) * sizeof(*s->copy));
	if (partitions)
		s->partitioned.cuts = apart_alloc(t->threads * cuts * sizeof(*s->partitioned.cuts));
	if (!has_tree(t))
		s->times = apart_alloc((searchers + 1) * sizeof(*s->times));
	if (s->part && s->outlet && s->stream && (s->partitioned.cuts || !partitions) &&
	    (has_tree(t) ? s->copy != NULL : s->times != NULL))
		return s;
	search_release(s);
	return NULL;
}

static int cut_ranges(struct state *s, const struct trial *t)
{
	const unsigned parts = s->way->kind == REMOTE ? ranks_of(t->ranks) : s->searchers;

	return s->way->weighted ? ranges_weighted(&s->ranges, &s->recipe, parts, WEIGHED)
				: ranges_even(&s->ranges, &s->recipe, parts);
}

/* ---- memory ---- */

/* A piece is the searcher's range of the array; distributed: an even share of the rank's array. */
size_t piece_begin(const struct state *s, unsigned searcher)
{
	if (searcher == s->searchers)
		return s->padded;
	return s->way->kind == REMOTE ? share_begin(s->held, searcher, s->searchers)
				      : s->ranges.begin[searcher];
}

/* Claims each range for its owner's node, as the owner touches it first. */
static int map_array(struct state *s, const struct trial *t)
{
	const unsigned width = width_of(t), first = dispatchers_of(t);
	struct region *region =
		region_map(t->arena, "the array", s->padded * width, t->value[PAGES].choice);

	if (!region)
		return -1;
	s->array = region_base(region);
	for (unsigned i = 0; i < s->searchers; i++) {
		const size_t begin = piece_begin(s, i) * width, end = piece_begin(s, i + 1) * width;

		region_home(region, begin, end - begin, t->place[first + i].node);
		if (s->way->apart)
			region_user(region, begin, end - begin, t->place[first + i].node);
	}
	return 0;
}

/* Memory that worker 0 touches first. */
static void *map_common(const struct trial *t, const char *name, size_t bytes, enum pages pages)
{
	struct region *region = region_map(t->arena, name, bytes, pages);

	if (!region)
		return NULL;
	region_home(region, 0, bytes, t->place[0].node);
	return region_base(region);
}

/* The copy on a node; NULL: none. */
static struct copy *copy_on(const struct state *s, int node)
{
	for (unsigned i = 0; i < s->copies; i++)
		if (s->copy[i].node == node)
			return &s->copy[i];
	return NULL;
}

static int map_copy(struct state *s, const struct trial *t, unsigned maker)
{
	const int node = t->place[maker].node;
	struct region *region =
		region_map(t->arena, "the tree", tree_room(t), t->value[PAGES].choice);

	if (!region)
		return -1;
	region_home(region, 0, tree_room(t), node);
	if (s->way->kind != REMOTE)
		region_user(region, 0, tree_room(t), node);
	s->copy[s->copies++] =
		(struct copy){ .memory = region_base(region), .maker = maker, .node = node };
	return 0;
}

static int map_trees(struct state *s, const struct trial *t)
{
	for (unsigned i = 0; i < t->threads && s->copies < copies_of(t); i++)
		if (!copy_on(s, t->place[i].node) && map_copy(s, t, i))
			return -1;
	if (s->way->kind != REMOTE)
		return 0;
	s->remote_memory = map_common(t, "keys and answers of ranks", remote_room(t), PAGES_BASE);
	return s->remote_memory ? 0 : -1;
}

static int map_streams(struct state *s, const struct trial *t)
{
	unsigned char *keys =
		trial_pieces(t, "streams of keys", 0, s->streams, stream_stride(t), true);

	for (unsigned i = 0; keys && i < s->streams; i++)
		s->stream[i] = (struct stream){ .key = keys + i * stream_stride(t),
						.keys = stream_keys(t),
						.packet = (uint32_t)t->value[PACKET].count,
						.width = width_of(t) };
	return keys ? 0 : -1;
}

static int map(struct state *s, const struct trial *t)
{
	s->own_stride = own_stride(t);
	s->own = trial_pieces(t, "packets and answers", dispatchers_of(t), s->searchers,
			      s->own_stride, false);
	if (!s->own || map_streams(s, t) || map_array(s, t) || (has_tree(t) && map_trees(s, t)))
		return -1;
	if (s->way->kind != PARTITION)
		return 0;
	s->partitioned.blocks =
		trial_pieces(t, "keys to be partitioned", 0, t->threads, block_stride(t), false);
	return s->partitioned.blocks ? 0 : -1;
}

/* ---- kernels, chosen once ---- */

/* The search with the widest vectors that this CPU has. */
static tree_search *choose_searcher(unsigned width)
{
	tree_search *found = NULL;

	for (unsigned set = ISAS; !found && set-- > 0;)
		if (isa_usable(set))
			found = tree_searcher(width, set);
	return found;
}

static search *choose_search(const struct trial *t)
{
	static search *const searches[][2] = {
		[BRANCHY] = { search_branchy_32, search_branchy_64 },
		[BRANCHLESS] = { search_branchless_32, search_branchless_64 },
	};

	return searches[t->value[SEARCH].choice][t->value[TYPE].choice];
}

static partition *choose_partition(const struct trial *t)
{
	return t->value[TYPE].choice == U64 ? partition_64 : partition_32;
}

static deal *choose_deal(const struct trial *t)
{
	if (!way_of(t)->by_range)
		return deal_in_turn;
	return t->value[TYPE].choice == U64 ? deal_by_range_64 : deal_by_range_32;
}

/* ---- connecting searchers, rings and parts ---- */

static void lay_out_searchers(struct state *s, const struct trial *t)
{
	const struct stream *stream = s->stream;
	const size_t keys = (size_t)stream->packet * stream->width;

	for (unsigned i = 0; i < s->searchers; i++) {
		unsigned char *own = s->own + i * s->own_stride;
		const size_t begin = s->way->apart ? s->ranges.begin[i] : 0,
			     end = s->way->apart ? s->ranges.begin[i + 1] : s->recipe.n;
		const struct copy *copy = copy_on(s, t->place[dispatchers_of(t) + i].node);

		s->part[i] = (struct part){ (const unsigned char *)s->array + begin * stream->width,
					    end - begin, (uint32_t)begin };
		s->searcher[i] = (struct searcher){
			.ring = (struct ring *)own,
			.tree = copy ? &copy->tree : NULL,
			.copy = (struct packet *)(own + ring_bytes(keys)),
			.answers = (uint32_t *)(own + ring_bytes(keys) + packet_bytes(keys)),
			.times = s->times ? &s->times[i] : NULL,
		};
		s->outlet[i].ring = s->searcher[i].ring;
	}
}

static void lay_out_flow(struct state *s, const struct trial *t)
{
	s->flow.searchers = s->searchers;
	s->flow.search = choose_search(t);
	s->flow.take = s->way->stealing ? take_any : take_own;
	s->flow.deal = choose_deal(t);
	s->flow.part = s->part;
	s->flow.searcher = s->searcher;
	s->flow.dealer = (struct dealer){ .stream = s->stream,
					  .ranges = &s->ranges,
					  .outlets = s->searchers,
					  .outlet = s->outlet };
}

static void lay_out_partitioned(struct state *s, const struct trial *t)
{
	struct partitioned *p = &s->partitioned;

	*p = (struct partitioned){ .team = t->team,
				   .ranges = &s->ranges,
				   .part = s->part,
				   .search = choose_search(t),
				   .tree_search = has_tree(t) ? s->tree_search : NULL,
				   .partition = choose_partition(t),
				   .stream = s->stream,
				   .searcher = s->searcher,
				   .packets = block_packets(t),
				   .blocks = p->blocks,
				   .stride = block_stride(t),
				   .cuts = p->cuts };
}

static void lay_out_remote(struct state *s, const struct trial *t)
{
	const bool wide = t->value[TYPE].choice == U64;

	s->remote = (struct remote){ .ranks = t->ranks,
				     .team = t->team,
				     .ranges = &s->ranges,
				     .tree = s->copy ? &s->copy->tree : NULL,
				     .search = s->tree_search,
				     .find_owners = wide ? find_owners_64 : find_owners_32,
				     .hand_out = wide ? hand_out_64 : hand_out_32,
				     .stream = s->stream,
				     .searcher = s->searcher,
				     .threads = t->threads };
}

void *search_prepare(const struct trial *t)
{
	struct state *s = allocate(t);

	if (!s)
		return NULL;
	s->way = way_of(t);
	s->team = t->team;
	s->streams = streams_of(t);
	s->searchers = searchers_of(t);
	s->padded = padded_of(t);
	s->held = held_of(t, rank_of(t->ranks));
	s->first = share_begin(elements_of(t), rank_of(t->ranks), ranks_of(t->ranks));
	s->first_stream = rank_of(t->ranks) * s->streams;
	s->recipe = recipe_of(t->seed, elements_of(t), width_of(t), t->value[KEYS].choice,
			      t->value[SKEW].real);
	s->tree_search = choose_searcher(width_of(t));
	s->fetch = t->value[TYPE].choice == U64 ? fetch_64 : fetch_32;
	if (cut_ranges(s, t) || map(s, t)) {
		search_release(s);
		return NULL;
	}
	lay_out_searchers(s, t);
	lay_out_flow(s, t);
	lay_out_partitioned(s, t);
	lay_out_remote(s, t);
	return s;
}
