/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fabric - latency and bandwidth between the ranks of an MPI job: between the nodes, where each has
 * one rank.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "bench/fabric/fabric.h"
#include "benchmark.h"
#include "kit/agree.h"
#include "machine/memory/arena.h"
#include "machine/memory/region.h"

enum { MOST_PINGS = 1 << 20, ALL_UP_TO = 256, ROUNDS_BEYOND = 64 };
#define MOST_SIZE ((uint64_t)1 << 30)

static uint64_t automatic_rounds(const struct machine *m, enum profile profile)
{
	(void)m;
	(void)profile;
	return 0; /* resolve() knows the number of ranks */
}

enum { ROUNDS, PINGS, SIZE };
static const struct parameter parameters[] = {
	[ROUNDS] = { "rounds", "rounds",
		     "rounds in which ranks meet in pairs; auto: all of up to 256 ranks, else 64",
		     P_COUNT, .value = { "auto" }, .automatic = automatic_rounds },
	[PINGS] = { "pings", "messages", "most round trips of a small message (8 B) in a meeting",
		    P_COUNT, .value = { "200" } },
	[SIZE] = { "size", "B", "length of a large message", P_SIZE, .value = { "1M" } },
};

enum {
	LATENCY,
	TAIL,
	LEAST,
	BANDWIDTH,
	LOADED,
	FACTOR,
	TAIL_FACTOR,
	LATENCY_HERE,
	BANDWIDTH_HERE,
	TOTAL,
	TIME
};
static const struct metric metrics[] = {
	[LATENCY] = { "latency", "s", "8 bytes one way, 25th percentile of a meeting",
		      LOWER_IS_BETTER, .kind = M_ROW },
	[TAIL] = { "latency-p99", "s", "8 bytes one way, 99th percentile of a meeting",
		   LOWER_IS_BETTER, .kind = M_ROW },
	[LEAST] = { "latency-least", "s", "8 bytes one way, the quickest of a meeting",
		    LOWER_IS_BETTER, .kind = M_ROW },
	[BANDWIDTH] = { "bandwidth", "B/s", "large messages both ways at once: each way",
			HIGHER_IS_BETTER, .kind = M_ROW },
	[LOADED] = { "loaded-latency", "s", "8 bytes one way while other pairs stream, median",
		     LOWER_IS_BETTER, .kind = M_ROW },
	[FACTOR] = { "load-factor", "1",
		     "median latency while other pairs stream, over the median without streams",
		     LOWER_IS_BETTER, .kind = M_ROW },
	[TAIL_FACTOR] = { "load-factor-p99", "1",
			  "99th percentile of latency while other pairs stream, over that without "
			  "streams",
			  LOWER_IS_BETTER, .kind = M_ROW },
	[LATENCY_HERE] = { "latency-in-node", "s", "latency of two ranks on one of several nodes",
			   LOWER_IS_BETTER, .kind = M_ROW },
	[BANDWIDTH_HERE] = { "bandwidth-in-node", "B/s",
			     "bandwidth of two ranks on one of several nodes", HIGHER_IS_BETTER,
			     .kind = M_ROW },
	[TOTAL] = { "total", "B/s", "large messages of all ranks together", HIGHER_IS_BETTER,
		    NULL },
	[TIME] = TIME_METRIC("round"),
};

static size_t bytes_of(const struct trial *t)
{
	return (1 + BULKS) * (size_t)t->value[SIZE].count;
}

static unsigned rounds_of(const struct trial *t)
{
	return t->variant->unused & BIT(ROUNDS) ? 1 : (unsigned)t->value[ROUNDS].count;
}

static void release(void *state)
{
	struct fabric *s = state;

	free(s->lap);
	free(s->node);
	free(s->met);
	free(s->fault);
	free(s);
}

static void *prepare(const struct trial *t)
{
	struct fabric *s = calloc(1, sizeof(*s));
	struct region *region = NULL;

	if (!s)
		return NULL;
	s->trial = t;
	s->ranks = t->ranks;
	s->way = t->variant->data;
	s->pings = (unsigned)t->value[PINGS].count;
	s->rounds = s->room = rounds_of(t);
	s->size = t->value[SIZE].count;
	s->sample = (uint64_t)t->allocation << 32;
	s->lap = calloc(s->pings, sizeof(*s->lap));
	s->node = calloc(t->ranks->ranks, sizeof(*s->node));
	s->met = calloc(s->room, sizeof(*s->met));
	if (s->lap && s->node && s->met)
		region = region_map(t->arena, "messages", bytes_of(t), PAGES_BASE);
	if (!region) {
		release(s);
		return NULL;
	}
	region_user(region, 0, bytes_of(t), t->place[0].node);
	s->out = region_base(region);
	s->in = s->out + s->size;
	return s;
}

/* Touches the memory, and finds which ranks share a node. */
static void enter(void *state, struct worker *self)
{
	struct fabric *s = state;
	const struct ranks *ranks = s->ranks;

	(void)self;
	payload_fill(s->out, bytes_of(s->trial), 1);
	s->node[ranks->rank] = ranks_lowest_here(ranks);
	ranks->sum(s->node, ranks->ranks);
	for (unsigned i = 1; i < ranks->ranks; i++)
		s->several |= s->node[i] != s->node[0];
}

static void reset(void *state)
{
	struct fabric *s = state;

	s->sample++;
	s->n = 0;
}

static void work(void *state, struct worker *self)
{
	struct fabric *s = state;

	self->done = s->way->measure(s);
}

static void report_if(struct result *result, unsigned metric, unsigned with, double value)
{
	if (isfinite(value))
		report_with(result, metric, with, value);
}

static void collect(void *state, const struct trial *t, struct result *result)
{
	const struct fabric *s = state;
	double total = 0;

	for (const struct meeting *m = s->met; m < s->met + s->n; m++) {
		report_if(result, m->here ? LATENCY_HERE : LATENCY, m->with, m->latency);
		report_if(result, m->here ? BANDWIDTH_HERE : BANDWIDTH, m->with, m->bandwidth);
		report_if(result, TAIL, m->with, m->tail);
		report_if(result, LEAST, m->with, m->least);
		report_if(result, LOADED, m->with, m->loaded);
		report_if(result, FACTOR, m->with, m->factor);
		report_if(result, TAIL_FACTOR, m->with, m->tail_factor);
		total += m->bandwidth * (s->way == &way_bisection ? 2 : 1);
	}
	if (s->way != &way_bisection && s->way != &way_ring)
		return;
	agree_sum(t->ranks, &total, 1);
	report(result, TOTAL, total);
}

static const char *verify(void *state, const struct trial *t)
{
	const struct fabric *s = state;

	(void)t;
	return s->fault;
}

static const char *resolve(const struct trial *t, union value *value, uint64_t given)
{
	const unsigned ranks = ranks_of(t->ranks);
	const uint64_t all = ranks < 2 ? 1 : ranks - 1 + ranks % 2;

	(void)given;
	if (!value[ROUNDS].count)
		value[ROUNDS].count = ranks > ALL_UP_TO ? ROUNDS_BEYOND : all;
	if (value[ROUNDS].count > all)
		value[ROUNDS].count = all;
	return NULL;
}

static struct needs needs(const struct trial *t)
{
	const struct way *way = t->variant->data;
	const uint64_t pings = t->value[PINGS].count, size = t->value[SIZE].count;

	if (ranks_of(t->ranks) < way->least)
		return (struct needs){ .pointless = way->least == 2
							    ? "it needs at least two ranks"
							    : "it needs at least four ranks" };
	if (t->threads != 1)
		return (struct needs){ .pointless = "one thread of a rank sends: --threads 1" };
	if (pings < LEAST_PINGS || pings > MOST_PINGS)
		return (struct needs){ .pointless = "--pings: 16 to 1048576 for each meeting" };
	if (size < 16 || size % 8 || size > MOST_SIZE)
		return (struct needs){ .pointless = "--size: 16 bytes to 1 GiB, a multiple of 8" };
	return (struct needs){ .bytes = bytes_of(t) };
}

static const struct variant variants[] = {
	{ "loopback", "each rank with itself, through MPI", &way_loopback, .unused = BIT(ROUNDS),
	  .divided = true },
	{ "pairs", "each rank with each other, in rounds of disjoint pairs", &way_pairs,
	  .divided = true },
	{ "bisection", "ranks i and i + N/2, all at once", &way_bisection, .unused = BIT(ROUNDS),
	  .divided = true },
	{ "ring", "each rank to the next and from the one before, all at once", &way_ring,
	  .unused = BIT(ROUNDS), .divided = true },
	{ "loaded", "as pairs, while other pairs stream", &way_loaded, .divided = true },
};

static const struct role roles[] = { { "rank", NULL, TO_COMPLETION } };

const struct benchmark fabric_benchmark = {
	.name = "fabric",
	.summary = "latency and bandwidth between nodes, pair by pair",
	.protocol = { 1,
		      "two ranks send 8 bytes there and back, then large messages both ways at "
		      "once; every message is checked" },
	.unit = { "round" },
	ROWS(parameters, parameters),
	ROWS(metrics, metrics),
	ROWS(variants, variants),
	.ops = { prepare, enter, reset, work, collect, verify, release },
	ROWS(roles, roles),
	.preset = {
		[QUICK] = { "loopback,pairs", .threads = "1", .sample = 1e-3, .repeats = 2 },
		[STANDARD] = { "loopback,pairs,bisection,ring,loaded", .repeats = 5 },
		[PAPER] = { .repeats = 12 },
	},
	.resolve = resolve,
	.needs = needs,
};
