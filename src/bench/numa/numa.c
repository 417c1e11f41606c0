/* SPDX-License-Identifier: Apache-2.0 */
/*
 * numa - first touch decides on which node a page lies, and so how fast each node accesses it.
 *
 * Arrays of double are first touched in different ways, or placed by policy. Then all workers
 * stream through them, each through its own contiguous part, as with OpenMP's schedule(static). The
 * work is the same in all variants; only the placement of pages differs. After Johnny's Software
 * Lab, "Multithreading and the Memory Subsystem" (2023): on two nodes the times of single, random
 * and static were 2.65 : 1.47 : 1.
 */
#include <math.h>
#include <stdlib.h>

#include "base/arithmetic.h"
#include "base/sysfs.h"
#include "bench/numa/numa.h"
#include "benchmark.h"
#include "kit/events.h"
#include "kit/random.h"
#include "machine/limits/limits.h"
#include "machine/topology/topology.h"

#define PUBLISHED_SIZE (UINT64_C(8) << 30)
#define QUICK_SIZE     (UINT64_C(128) << 20)
#define PLACEMENTS     8 /* variants that are sampled in turn: all but the matrix */

static uint64_t power_below(uint64_t bytes)
{
	return bytes ? UINT64_C(1) << (63 - __builtin_clzll(bytes)) : 0;
}

static uint64_t power_above(uint64_t bytes)
{
	return bytes > 1 ? 2 * power_below(bytes - 1) : bytes;
}

static uint64_t memory_of(const struct machine *m)
{
	struct memory_limit limit;
	uint64_t sum = 0;

	if (m->running) {
		memory_limit_read(SYSFS_ROOT, &limit);
		return limit.available;
	}
	for (unsigned i = 0; i < m->nodes; i++)
		sum += m->node[i].memory;
	return sum ? sum : NO_LIMIT;
}

static uint64_t at_least(uint64_t bytes)
{
	return bytes < QUICK_SIZE ? QUICK_SIZE : bytes;
}

/*
 * quick: 128 MiB, or more than all last-level caches of the machine hold together. Otherwise small
 * enough that the arrays of all placements, which are sampled in turn, fit into memory together,
 * and at least 4 times those caches (as STREAM's rules have it). If memory is too small for both,
 * exceeding the caches has priority.
 */
static uint64_t auto_size(const struct machine *m, enum profile profile)
{
	const uint64_t share = memory_of(m) / 10 * 8 / ARRAYS,
		       beyond_caches = power_above(4 * m->all_caches);
	uint64_t size = power_below(share / PLACEMENTS);

	if (profile == QUICK)
		return at_least(smaller(power_below(share), power_above(m->all_caches + 1)));
	if (size < beyond_caches)
		size = smaller(power_below(share), beyond_caches);
	return smaller(size, PUBLISHED_SIZE);
}

enum { KERNEL, BYTES, PAGES, THREADS_ON, FROM, TO, CHUNK };
static const struct parameter parameters[] = {
	[KERNEL] = { "kernel", NULL,
		     "operation on the arrays; -nt: with non-temporal stores, which bypass the "
		     "caches",
		     P_CHOICE, .choices = KERNEL_CHOICES,
		     .value = { "sum", "sum,triad", "sum-scalar" } },
	[BYTES] = { "size", "B", "size of each array; kernels use 1 to 3 arrays", P_SIZE,
		    .value = { "auto", "auto", "8G" }, .automatic = auto_size },
	[PAGES] = { "pages", NULL, "pages of the arrays", P_CHOICE, .choices = PAGES_CHOICES,
		    .value = { "base", "base,thp" } },
	[THREADS_ON] = { "layout", NULL, "threads on each node", P_LAYOUT,
			 .value = { "packed,split", "packed,split,all", "packed,split" } },
	[FROM] = { "from", NULL, "node of the threads, in the matrix", P_LAYOUT,
		   .value = { "each" } },
	[TO] = { "to", NULL, "node of the memory", P_NODE, .value = { "all" } },
	[CHUNK] = { "chunk", NULL,
		    "iterations (elements) that a thread takes at once in schedule(dynamic, chunk)",
		    P_COUNT, .value = { "6144" }, .curve = true },
};

static double bytes_asked_for(const struct trial *);
static double bytes_with_allocation(const struct trial *);
static double operations(const struct trial *);

enum { BANDWIDTH, TRAFFIC, FLOPS, WIDTH, GRANULE, STUCK, TAKEN, FAULTS, MOVING };
static const struct metric metrics[] = {
	[BANDWIDTH] = { "bandwidth", "B/s",
			"bytes per second that the kernel reads and writes, or touches first",
			HIGHER_IS_BETTER, .amount = bytes_asked_for },
	[TRAFFIC] = { "traffic", "B/s",
		      "bandwidth including write-allocates: lines read only to be overwritten "
		      "(some CPUs avoid them)",
		      HIGHER_IS_BETTER, .amount = bytes_with_allocation },
	[FLOPS] = { "flops", "flop/s", "floating-point additions and multiplications",
		    HIGHER_IS_BETTER, .amount = operations },
	[WIDTH] = { "vector", "B", "width of the kernel's vectors on this CPU",
		    .better = NEITHER_IS_BETTER },
	[GRANULE] = { "granule", "B", "bytes that are touched, and therefore placed, together",
		      .better = NEITHER_IS_BETTER },
	[STUCK] = { "stuck", "page", "pages that could not be moved to the node that uses them",
		    .better = LOWER_IS_BETTER },
	[TAKEN] = { "imbalance", "1", "largest number of chunks that a thread took, over the mean",
		    LOWER_IS_BETTER, .kind = M_IMBALANCE },
	[FAULTS] = { "faults", "page/s",
		     "pages of the requested size touched first per second, by all threads "
		     "together",
		     HIGHER_IS_BETTER },
	[MOVING] = { "moving", "s", "time until the kernel's balancing had moved its last page",
		     LOWER_IS_BETTER },
	TIME_METRIC("pass"),
};

static const struct rule single = { FIRST_ALL, BY_TOUCH, false },
			 at_random = { AT_RANDOM, BY_TOUCH, false },
			 by_part = { EACH_ITS_PART, BY_TOUCH, false },
			 interleave = { EACH_ITS_PART, INTERLEAVE, false },
			 bound = { EACH_ITS_PART, BIND, false },
			 migrate = { FIRST_ALL, BY_TOUCH, true },
			 balance = { FIRST_ALL, BY_TOUCH, false, .balanced = true },
			 then_dealt = { EACH_ITS_PART, BY_TOUCH, false, .dealt = true },
			 dealt_before = { AS_DEALT, BY_TOUCH, false };

static const struct kernel *kernel_of(const struct trial *trial)
{
	return &kernels[trial->value[KERNEL].choice];
}

static size_t elements_of(const struct trial *trial)
{
	return trial->value[BYTES].count / sizeof(double);
}

/* Measures first touch itself, which no kernel does. */
static bool only_touches(const struct trial *trial)
{
	return trial->variant->unused & BIT(KERNEL);
}

static double words(const struct trial *trial, unsigned each)
{
	return (double)elements_of(trial) * each;
}

static double bytes_asked_for(const struct trial *trial)
{
	const struct kernel *k = kernel_of(trial);

	return words(trial, k->reads + k->writes) * sizeof(double);
}

static double bytes_with_allocation(const struct trial *trial)
{
	const struct kernel *k = kernel_of(trial);

	if (only_touches(trial))
		return NAN;
	return words(trial, k->reads + (k->streaming ? 1 : 2) * k->writes) * sizeof(double);
}

static double operations(const struct trial *trial)
{
	return only_touches(trial) ? NAN : words(trial, kernel_of(trial)->flops);
}

static double lines(const struct trial *trial)
{
	return bytes_asked_for(trial) / (double)trial->machine->line;
}

static const struct explained counters[] = {
	{ EVENT_L3_MISSES, "last-level cache misses: 1 if all lines come from memory, less if "
			   "prefetches are not counted" },
	{ "MEM_LOAD_L3_MISS_RETIRED:REMOTE_DRAM|MEM_LOAD_UOPS_L3_MISS_RETIRED:REMOTE_DRAM|DATA_"
	  "CACHE_REFILLS_FROM_SYSTEM:LS_MABRESP_RMT_DRAM|perf::NODE-LOAD-MISSES",
	  "loads served by another node's memory" },
	{ EVENT_TLB_MISSES,
	  "loads that miss the TLB: 1 in 64 lines with 4 KiB pages, hardly any with huge pages" },
	{ EVENT_CYCLES, "cycles per line, summed over all threads" },
	{ EVENT_INSTRUCTIONS, "instructions per line: fewer with wider vectors" },
};

static void *prepare(const struct trial *trial)
{
	const struct kernel *kernel = kernel_of(trial);
	enum isa set;
	stream *run = kernel_choose(kernel, &set);
	struct state *s;

	if (!run)
		return arena_cannot(trial->arena,
				    "%s needs stores that bypass the caches, which locus lacks for "
				    "this architecture",
				    kernel->name);
	s = apart_alloc(sizeof(*s) + trial->threads * sizeof(*s->own));
	if (!s)
		return NULL;
	s->kernel = kernel;
	s->run = run;
	s->width = isa_width(set);
	s->team = trial->team;
	s->arrays = (struct arrays){ .rule = trial->variant->data,
				     .elements = elements_of(trial),
				     .line = trial->machine->line / sizeof(double),
				     .page = trial->machine->page / sizeof(double),
				     .threads = trial->threads,
				     .seed = random_mix(trial->seed + trial->allocation),
				     .loop = { .elements = elements_of(trial),
					       .chunk = trial->value[CHUNK].count } };
	if (!arrays_place(&s->arrays, trial, kernel, trial->value[PAGES].choice,
			  (int)trial->value[TO].count))
		return s;
	free(s);
	return NULL;
}

static void enter(void *state, struct worker *self)
{
	const struct arrays *a = &((struct state *)state)->arrays;

	if (!a->touched)
		arrays_touch(a, self->index);
}

static void *prepare_balance(const struct trial *trial)
{
	struct state *s = prepare(trial);

	if (!s || !balance_wait(s, trial))
		return s;
	free(s);
	return NULL;
}

static void *prepare_touch(const struct trial *trial)
{
	struct state *s = prepare(trial);

	if (!s || touch_possible(s, trial))
		return s;
	free(s);
	return NULL;
}

static void collect_touch(void *state, const struct trial *trial, struct result *result)
{
	const struct state *s = state;

	(void)trial;
	report(result, GRANULE, (double)s->arrays.granule);
	report(result, FAULTS, touch_pages(s) / elapsed(result));
}

static void collect(void *state, const struct trial *trial, struct result *result)
{
	const struct state *s = state;

	for (unsigned i = 0; s->arrays.rule->dealt && i < trial->threads; i++)
		report_by_worker(result, TAKEN, i, (double)s->own[i].chunks);
	report(result, WIDTH, s->width);
	report(result, GRANULE, (double)s->arrays.granule);
	if (s->arrays.rule->balanced)
		report(result, MOVING, s->moving);
	if (s->arrays.rule->moved || s->arrays.rule->balanced)
		report(result, STUCK, (double)s->arrays.stuck);
}

static struct needs needs(const struct trial *trial)
{
	const struct kernel *k = kernel_of(trial);

	if (trial->value[BYTES].count / trial->machine->line < trial->threads)
		return (struct needs){ .pointless = "each thread needs at least one cache line of "
						    "the arrays; choose a larger size" };
	if (!(trial->variant->unused & BIT(CHUNK)) && !trial->value[CHUNK].count)
		return (struct needs){ .pointless = "--chunk: a chunk has at least one element" };
	return (struct needs){
		/* each sample touches a page for the first time once */
		.units = only_touches(trial) ? trial->threads : 0,
		.bytes = (k->reads + k->writes) * region_takes(trial->machine,
							       elements_of(trial) * sizeof(double),
							       trial->value[PAGES].choice),
	};
}

/*
 * Adds a single thread: the bandwidth of one core from each node, beside the bandwidth of a node's
 * cores.
 */
static const struct override with_one_core[] = {
	{ THREADS_ON, { "1,packed,split", "1,packed,split,all", "packed,split" } },
};

static const struct override more_and_more[] = { { P_THREADS, { "1..auto*2,auto" } } };

enum { UNDEALT = BIT(CHUNK), MATRIX_ONLY = BIT(FROM) | BIT(TO), BY_PART = UNDEALT | MATRIX_ONLY };
static const struct ops dealt_ops = {
	prepare, enter, numa_reset_dealt, numa_work_dealt, collect, numa_verify, free
};
static const struct ops touch_ops = { prepare_touch, enter,	   touch_reset, touch_work,
				      collect_touch, touch_verify, free };
/* The cost of a page does not depend on how many there are. */
static const struct override of_touch[] = {
	{ THREADS_ON, { "1,packed,split", "1,packed,split,all", "packed,split" } },
	{ BYTES, { "256M" } },
};
static const struct ops balance_ops = { prepare_balance, enter,	      NULL, numa_work,
					collect,	 numa_verify, free };
enum { TOUCHES = BY_PART | BIT(KERNEL) };
static const struct variant variants[] = {
	{ "single", "one thread touches all pages first: they lie on its node", &single, BY_PART,
	  .several_nodes = true },
	{ "random",
	  "each page is first touched by a random thread (with huge pages: each huge page)",
	  &at_random, BY_PART, .several_nodes = true },
	{ "static", "each thread touches first what it will use", &by_part, BY_PART,
	  ROWS(defaults, with_one_core) },
	{ "scaling",
	  "as static, from 1 thread to all cores: how many threads saturate the bandwidth",
	  &by_part, BY_PART | BIT(THREADS_ON), ROWS(defaults, more_and_more) },
	{ "interleave", "pages round-robin over all nodes with memory", &interleave, BY_PART,
	  .several_nodes = true },
	{ "bind", "all pages on one node", &bound, UNDEALT | BIT(FROM),
	  ROWS(defaults, with_one_core), .several_nodes = true },
	{ "migrate", "as single, then pages are moved to the threads that use them", &migrate,
	  BY_PART, .several_nodes = true },
	{ "balance", "as single, then the kernel's NUMA balancing moves pages, if it is on",
	  &balance, BY_PART, .ops = &balance_ops, .several_nodes = true,
	  .available = balance_available },
	{ "static-dynamic", "initialised with schedule(static), used with schedule(dynamic)",
	  &then_dealt, MATRIX_ONLY, .ops = &dealt_ops, .several_nodes = true },
	{ "dynamic-static", "initialised with schedule(dynamic), used with schedule(static)",
	  &dealt_before, MATRIX_ONLY, .several_nodes = true },
	{ "touch", "first touch itself: page faults, each thread on its own node", &by_part,
	  TOUCHES, ROWS(defaults, of_touch), .ops = &touch_ops },
	{ "touch-interleave", "as touch, pages round-robin over all nodes with memory", &interleave,
	  TOUCHES, ROWS(defaults, of_touch), .ops = &touch_ops, .several_nodes = true },
	{ "touch-bind", "as touch, all pages on one node", &bound, TOUCHES & ~BIT(TO),
	  ROWS(defaults, of_touch), .ops = &touch_ops, .several_nodes = true },
	{ "matrix", "threads on one node, pages on another: node x node", &bound,
	  UNDEALT | BIT(THREADS_ON), .several_nodes = true },
};

#define STREAMING \
	"single,random,static,interleave,bind,migrate,static-dynamic,dynamic-static,matrix"

static const struct role roles[] = { { "thread", NULL, BY_COUNT } };

const struct benchmark numa_benchmark = {
	.name = "numa",
	.summary = "memory bandwidth by page placement: first touch, interleave, ...",
	.protocol = { 1,
		      "all threads traverse the arrays together, each its own contiguous part, as "
		      "often as fills the sample",
		      "jsl2023" },
	.unit = { "pass", .part = "line", .parts = lines },
	ROWS(parameters, parameters),
	ROWS(metrics, metrics),
	ROWS(counters, counters),
	ROWS(variants, variants),
	.ops = { prepare, enter, NULL, numa_work, collect, numa_verify, free },
	ROWS(roles, roles),
	.preset = { [QUICK] = { .variants = STREAMING, .sample = 10e-3 },
		    [STANDARD] = { .variants = STREAMING
				   ",scaling,balance,touch,touch-interleave,touch-bind" },
		    [PAPER] = { .variants = STREAMING, .threads = "16" } },
	.needs = needs,
};
