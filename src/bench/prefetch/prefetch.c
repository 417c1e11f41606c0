/* SPDX-License-Identifier: Apache-2.0 */
/*
 * prefetch - time of a load over the stride, at a fixed number of lines: how much of the memory
 * latency the hardware prefetchers hide, and up to which stride.
 */
#include <stdlib.h>

#include "bench/prefetch/prefetch.h"
#include "base/arithmetic.h"
#include "base/flush.h"
#include "benchmark.h"
#include "kit/events.h"
#include "kit/opaque.h"
#include "kit/random.h"
#include "machine/memory/region.h"
#include "machine/topology/topology.h"

enum { LEAST_LINES = 256, USUAL_LINES = 16 * LEAST_LINES, MOST_LINES = 1 << 20 };
enum { MOST_STRIDE = 1 << 20 };

/* At a stride of 16 KiB these are 64 MiB, and a walk takes much longer than reading a clock. */
static uint64_t automatic_lines(const struct machine *m, enum profile profile)
{
	(void)m, (void)profile;
	return USUAL_LINES;
}

enum { STRIDE, LINES, ORDER, PAGES };
static const struct parameter parameters[] = {
	[STRIDE] = { "stride", "B", "bytes from one element to its neighbour", P_SIZE,
		     .value = { "8..16K*2", "8,16,32,64,128,256,320,512,1K,2K,4K,4160,8K,16K" },
		     .curve = true },
	[LINES] = { "lines", "lines",
		    "cache lines that a walk touches, for every stride (auto: 16 times 256)",
		    P_COUNT, .value = { "auto" }, .automatic = automatic_lines },
	[ORDER] = { "order", NULL,
		    "order in which elements are loaded; prefetchers can follow forward and "
		    "backward",
		    P_CHOICE, .choices = "forward,backward,random",
		    .value = { "forward,random", "forward,backward,random" } },
	[PAGES] = { "pages", NULL,
		    "pages of the elements; thp-64K: multi-size transparent huge pages of 64 KiB",
		    P_CHOICE, .choices = PAGES_CHOICES PAGES_CHOICES_MULTISIZE,
		    .value = { "base,thp", "base,thp,thp-64K" } },
};

/* B: the memory traffic of one load. */
static double bytes_of_a_load(const struct trial *t)
{
	return (double)smaller(t->value[STRIDE].count, t->machine->line);
}

enum { TIME, BANDWIDTH, OBTAINED };
static const struct metric metrics[] = {
	[TIME] = TIME_METRIC("load"),
	[BANDWIDTH] = { "bandwidth", "B/s", "bytes per second of the lines that hold the elements",
			HIGHER_IS_BETTER, bytes_of_a_load },
	[OBTAINED] = { "obtained", "1",
		       "multi-size pages that the kernel counted at first touch, over the pages "
		       "requested",
		       NEITHER_IS_BETTER, NULL },
};

static const struct ratio ratios[] = {
	{ "slowdown", "by random order", ORDER, "random", "forward", NULL },
	{ "slowdown", "by backward order", ORDER, "backward", "forward", NULL },
	{ "slowdown", "by address translation on base pages", PAGES, "base", "thp", NULL },
};

/* ---- walks ---- */

static size_t element_of(const struct walk *w, enum order order, uint64_t seed, size_t turn)
{
	switch (order) {
	case ORDER_FORWARD:
		return turn;
	case ORDER_BACKWARD:
		return w->elements - 1 - turn;
	default:
		return random_permute(turn, w->elements, seed);
	}
}

static char *address(const struct walk *w, size_t turn)
{
	return w->base + w->table[turn] * sizeof(uint64_t);
}

void walk_lay(const struct walk *w, enum order order, uint64_t seed)
{
	const size_t n = w->elements;

	for (size_t turn = 0; turn < n; turn++)
		w->table[turn] =
			(uint32_t)(element_of(w, order, seed, turn) * w->stride / sizeof(uint64_t));
	for (size_t turn = 0; turn < n; turn++)
		*(char **)address(w, turn) = address(w, turn + 1 < n ? turn + 1 : 0);
}

void walk_evict(const struct walk *w, size_t line)
{
	const size_t each = w->stride < line ? line : w->stride;

	for (size_t at = 0; at < w->elements * w->stride; at += each)
		flush_line(w->base + at);
	flush_wait();
}

uint64_t walk_sum(const struct walk *w)
{
	uint64_t sum = 0;

	for (size_t turn = 0; turn < w->elements; turn++)
		sum += (uintptr_t)address(w, turn);
	return sum;
}

/*
 * As few instructions as possible: the core looks ahead by a number of instructions, which limits
 * the loads in flight. Neither loop is unrolled: some prefetchers distinguish streams by the
 * address of the load instruction.
 */
__attribute__((noinline)) uint64_t walk_independent(const struct walk *w, uint64_t walks)
{
	const uint64_t *words = (const uint64_t *)(const void *)w->base;
	const uint32_t *table = w->table, *end = table + w->elements;
	uint64_t sum = 0;

	for (; walks; walks--)
		_Pragma("GCC unroll 1") for (const uint32_t *at = table; at < end; at++)
		{
			sum += words[*at];
			OPAQUE(sum);
		}
	return sum;
}

__attribute__((noinline)) uint64_t walk_dependent(const struct walk *w, uint64_t walks)
{
	const char *at = address(w, 0);
	uint64_t sum = 0, n = walks * w->elements;

	_Pragma("GCC unroll 1") for (; n; n--)
	{
		at = *(const char *const *)at;
		sum += (uintptr_t)at;
		OPAQUE(sum);
	}
	return sum;
}

/* ---- the life of a trial ---- */

struct state {
	struct walk walk;
	walk_loop *run;
	struct region *region; /* of the elements */
	size_t line;
	enum order order;
	uint64_t seed;
	uint64_t walks, sum; /* since the start */
	double obtained;
};

static uint64_t elements_of(const struct trial *t)
{
	const uint64_t lines = t->value[LINES].count, stride = t->value[STRIDE].count;

	return stride < t->machine->line ? lines * (t->machine->line / stride) : lines;
}

static size_t bytes_of(const struct trial *t)
{
	return elements_of(t) * t->value[STRIDE].count;
}

static size_t table_bytes(const struct trial *t)
{
	return elements_of(t) * sizeof(uint32_t);
}

/* Maps memory on the walker's node. */
static struct region *map(const struct trial *t, const char *name, size_t bytes, enum pages pages)
{
	struct region *r = region_map(t->arena, name, bytes, pages);

	if (!r)
		return NULL;
	region_home(r, 0, bytes, t->place[0].node);
	region_user(r, 0, bytes, t->place[0].node);
	return r;
}

static void *prepare(const struct trial *t)
{
	walk_loop *const *run = t->variant->data;
	struct region *elements = map(t, "elements", bytes_of(t), t->value[PAGES].choice),
		      *table = elements ? map(t, "the table", table_bytes(t), PAGES_BASE) : NULL;
	struct state *s = table ? calloc(1, sizeof(*s)) : NULL;

	if (!s)
		return NULL;
	*s = (struct state){ { region_base(elements), t->value[STRIDE].count, elements_of(t),
			       region_base(table) },
			     *run,
			     elements,
			     t->machine->line,
			     t->value[ORDER].choice,
			     t->seed + t->allocation };
	return s;
}

static void enter(void *state, struct worker *self)
{
	struct state *s = state;

	(void)self;
	s->obtained = multisize_touch(s->region);
	walk_lay(&s->walk, s->order, s->seed);
}

static void reset(void *state)
{
	const struct state *s = state;

	walk_evict(&s->walk, s->line);
}

static void work(void *state, struct worker *self)
{
	struct state *s = state;
	const uint64_t walks = (self->count + s->walk.elements - 1) / s->walk.elements;

	s->sum += s->run(&s->walk, walks);
	s->walks += walks;
	self->done = walks * s->walk.elements;
}

static void collect(void *state, const struct trial *t, struct result *result)
{
	const struct state *s = state;

	if (t->value[PAGES].choice >= PAGES_MULTISIZE)
		report(result, OBTAINED, s->obtained);
}

/* An element that was left out, or loaded twice, changes the sum. */
static const char *verify(void *state, const struct trial *t)
{
	const struct state *s = state;

	(void)t;
	return s->sum == s->walks * walk_sum(&s->walk)
		       ? NULL
		       : "the loaded elements are not those of whole walks";
}

static const char *pointless(const struct trial *t)
{
	const uint64_t stride = t->value[STRIDE].count, lines = t->value[LINES].count;
	const size_t line = t->machine->line;

	if (t->threads != 1)
		return "it runs on one thread: give --threads 1";
	if (lines < LEAST_LINES || lines > MOST_LINES)
		return "--lines: from 256 to 1048576";
	if (!stride || stride % sizeof(uint64_t) || stride > MOST_STRIDE ||
	    (stride < line && line % stride))
		return "--stride: a multiple of 8 bytes, at most 1M; below a cache line, one that "
		       "divides it";
	return NULL;
}

/* Alone, since all strides in all orders would take GiB of memory at once. */
static struct needs needs(const struct trial *t)
{
	struct needs n = { .pointless = pointless(t) };

	if (n.pointless)
		return n;
	n.bytes = region_takes(t->machine, bytes_of(t), t->value[PAGES].choice) + table_bytes(t);
	n.touched = t->value[LINES].count * t->machine->line;
	n.units = elements_of(t);
	n.alone = true;
	return n;
}

static walk_loop *const independent = walk_independent, *const dependent = walk_dependent;
static const struct variant variants[] = {
	{ "independent", "addresses are computed, so loads can overlap", &independent,
	  .available = flush_lacks },
	{ "dependent", "each load gives the address of the next", &dependent,
	  .available = flush_lacks },
};

static const struct role roles[] = { { "walker", one_worker, BY_COUNT } };

static const struct explained counters[] = {
	{ EVENT_CYCLES, "cycles per load, independent of the frequency" },
	{ EVENT_L1_MISSES, "loads whose line no prefetcher brought to L1 in time" },
	{ EVENT_L2_MISSES, "loads whose line was not in L2 either" },
	{ EVENT_L3_LOAD_MISSES, "loads that went to memory themselves, without a prefetch" },
	{ EVENT_TLB_MISSES, "loads that miss the TLB" },
};

const struct benchmark prefetch_benchmark = {
	.name = "prefetch",
	.summary = "time of loads by stride: what hardware prefetchers hide",
	.protocol = { 1,
		      "a sample is a walk over all elements, after their lines were evicted from "
		      "the caches",
		      "saavedra1995" },
	.unit = { "load", .cycles = true },
	ROWS(parameters, parameters),
	ROWS(metrics, metrics),
	ROWS(ratios, ratios),
	ROWS(counters, counters),
	ROWS(variants, variants),
	.ops = { prepare, enter, reset, work, collect, verify, free },
	ROWS(roles, roles),
	.preset = { [QUICK] = { .threads = "1", .sample = 1e-3 } },
	.needs = needs,
};
