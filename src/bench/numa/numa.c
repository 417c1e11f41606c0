/* SPDX-License-Identifier: Apache-2.0 */
/*
 * numa - first touch decides on which node a page lies, and so how fast other nodes access it.
 *
 * Arrays of double are first touched in different ways, or placed by policy. Then all workers
 * stream through them, each through its own contiguous part, as with OpenMP's schedule(static). The
 * work is the same in all variants; only the placement of pages differs. After Johnny's Software
 * Lab, "Multithreading and the Memory Subsystem" (2023): on two nodes the times of single, random
 * and static were 2.65 : 1.47 : 1.
 */
#include <stdio.h>
#include <stdlib.h>

#include "bench/numa/arrays.h"
#include "bench/numa/size.h"
#include "benchmark.h"
#include "kit/events.h"
#include "kit/random.h"
#include "machine/topology/topology.h"

enum { KERNEL, BYTES, PAGES, THREADS_ON, FROM, TO };
static const struct parameter parameters[] = {
	[KERNEL] = { "kernel", NULL,
		     "what is done with the arrays; -nt: with non-temporal stores, which bypass "
		     "the caches",
		     P_CHOICE, .choices = KERNEL_CHOICES,
		     .value = { "sum", "sum,triad", "sum-scalar" } },
	[BYTES] = { "size", "B", "size of each array; a kernel has 1 to 3", P_SIZE,
		    .value = { "128M", "auto", "8G" }, .automatic = numa_size },
	[PAGES] = { "pages", NULL, "pages of the arrays", P_CHOICE, .choices = PAGES_CHOICES,
		    .value = { "base", "base,thp" } },
	[THREADS_ON] = { "layout", NULL, "threads on each node", P_LAYOUT,
			 .value = { "packed,split", "packed,split,all", "packed,split" } },
	[FROM] = { "from", NULL, "node of the threads, in the matrix", P_LAYOUT,
		   .value = { "each" } },
	[TO] = { "to", NULL, "node of the memory", P_NODE, .value = { "all" } },
	{ 0 }
};

static double bytes_asked_for(const struct trial *);
static double bytes_with_allocation(const struct trial *);
static double operations(const struct trial *);

enum { BANDWIDTH, TRAFFIC, FLOPS, WIDTH, GRANULE, STUCK };
static const struct metric metrics[] = {
	[BANDWIDTH] = { "bandwidth", "B/s", "bytes that the kernel reads and writes",
			HIGHER_IS_BETTER, .amount = bytes_asked_for },
	[TRAFFIC] = { "traffic", "B/s",
		      "bandwidth with write-allocates: lines read only to be overwritten (some "
		      "CPUs avoid them)",
		      HIGHER_IS_BETTER, .amount = bytes_with_allocation },
	[FLOPS] = { "flops", "flop/s", "floating-point additions and multiplications",
		    HIGHER_IS_BETTER, .amount = operations },
	[WIDTH] = { "vector", "B", "width of the vectors that the kernel uses on this CPU",
		    .better = NEITHER_IS_BETTER },
	[GRANULE] = { "granule", "B", "bytes that are touched, and so placed, together",
		      .better = NEITHER_IS_BETTER },
	[STUCK] = { "stuck", "page", "pages that would not move to the node that uses them",
		    .better = LOWER_IS_BETTER },
	TIME_METRIC("pass"),
	{ 0 }
};

static const struct rule single = { FIRST_ALL, BY_TOUCH, false },
			 at_random = { AT_RANDOM, BY_TOUCH, false },
			 by_part = { EACH_ITS_PART, BY_TOUCH, false },
			 interleave = { EACH_ITS_PART, INTERLEAVE, false },
			 bound = { EACH_ITS_PART, BIND, false },
			 migrate = { FIRST_ALL, BY_TOUCH, true };

/* A worker's results of a sample. */
struct own {
	_Alignas(APART) double sum; /* over all passes */
	uint64_t passes;
	size_t wrong; /* first wrong element of its part; the part's end: none */
};

struct state {
	const struct kernel *kernel;
	stream *run;
	unsigned width;
	struct arrays arrays;
	struct own own[]; /* by worker */
};

static const struct kernel *kernel_of(const struct trial *trial)
{
	return &kernels[trial->value[KERNEL].choice];
}

static size_t elements_of(const struct trial *trial)
{
	return trial->value[BYTES].count / sizeof(double);
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

	return words(trial, k->reads + (k->streaming ? 1 : 2) * k->writes) * sizeof(double);
}

static double operations(const struct trial *trial)
{
	return words(trial, kernel_of(trial)->flops);
}

static double lines(const struct trial *trial)
{
	return bytes_asked_for(trial) / (double)trial->machine->line;
}

static const struct explained counters[] = {
	{ EVENT_L3_MISSES, "misses of the last-level cache: 1 where all lines come from memory, "
			   "less where prefetches are not counted" },
	{ "MEM_LOAD_L3_MISS_RETIRED:REMOTE_DRAM|MEM_LOAD_UOPS_L3_MISS_RETIRED:REMOTE_DRAM|DATA_"
	  "CACHE_REFILLS_FROM_SYSTEM:LS_MABRESP_RMT_DRAM|perf::NODE-LOAD-MISSES",
	  "loads that another node's memory served" },
	{ EVENT_TLB_MISSES,
	  "loads that miss the TLB: 1 in 64 lines with pages of 4 KiB, hardly any with huge ones" },
	{ EVENT_CYCLES, "a line's cycles, of all threads together" },
	{ EVENT_INSTRUCTIONS, "instructions for a line: fewer with wider vectors" },
	{ 0 }
};

static void *prepare(const struct trial *trial)
{
	const struct kernel *kernel = kernel_of(trial);
	enum isa set;
	stream *run = kernel_choose(kernel, &set);
	struct state *s;

	if (!run)
		return arena_cannot(
			trial->arena,
			"%s needs stores that pass the caches, which this program does not "
			"have for this architecture",
			kernel->name);
	s = apart_alloc(sizeof(*s) + trial->threads * sizeof(*s->own));
	if (!s)
		return NULL;
	s->kernel = kernel;
	s->run = run;
	s->width = isa_width(set);
	s->arrays = (struct arrays){ .rule = trial->variant->data,
				     .elements = elements_of(trial),
				     .line = trial->machine->line / sizeof(double),
				     .threads = trial->threads,
				     .seed = random_mix(trial->seed + trial->allocation) };
	if (!arrays_place(&s->arrays, trial, kernel, trial->value[PAGES].choice,
			  (int)trial->value[TO].count))
		return s;
	free(s);
	return NULL;
}

static void enter(void *state, struct worker *self)
{
	const struct arrays *a = &((struct state *)state)->arrays;

	if (!a->rule->moved)
		arrays_touch(a, self->index);
}

/* A worker's part of an array; NULL: the kernel does not use it. */
static double *part_of(const struct arrays *a, unsigned array, size_t begin)
{
	return a->base[array] ? a->base[array] + begin : NULL;
}

static void work(void *state, struct worker *self)
{
	struct state *s = state;
	const struct arrays *a = &s->arrays;
	struct own *own = &s->own[self->index];
	const size_t begin = arrays_border(a, self->index), end = arrays_border(a, self->index + 1);

	own->sum = s->run(part_of(a, RESULT, begin), part_of(a, X, begin), part_of(a, Y, begin),
			  end - begin, self->count);
	own->passes = self->done = self->count;
}

static void collect(void *state, const struct trial *trial, struct result *result)
{
	const struct state *s = state;

	(void)trial;
	report(result, WIDTH, s->width);
	report(result, GRANULE, (double)s->arrays.granule);
	if (s->arrays.rule->moved)
		report(result, STUCK, (double)s->arrays.stuck);
}

static void check(void *state, struct worker *self)
{
	struct state *s = state;
	const double *result = s->arrays.base[RESULT];
	const size_t end = arrays_border(&s->arrays, self->index + 1);
	size_t i = arrays_border(&s->arrays, self->index);

	while (i < end && result[i] == contents_element(s->kernel, i))
		i++;
	s->own[self->index].wrong = i;
}

static const char *verify(void *state, const struct trial *trial)
{
	/* static, because it is read after release() */
	static _Thread_local char sentence[200];
	struct state *s = state;
	const struct arrays *a = &s->arrays;

	if (s->kernel->writes)
		team_run(trial->team, check, s);
	for (unsigned i = 0; i < a->threads; i++) {
		const size_t begin = arrays_border(a, i), end = arrays_border(a, i + 1);
		const struct own *own = &s->own[i];
		const double sum = contents_sum(begin, end, own->passes);

		if (!s->kernel->writes && own->sum != sum) {
			snprintf(sentence, sizeof(sentence),
				 "worker %u summed %.17g in %llu passes, not %.17g", i, own->sum,
				 (unsigned long long)own->passes, sum);
			return sentence;
		}
		if (s->kernel->writes && own->wrong < end) {
			snprintf(sentence, sizeof(sentence),
				 "element %zu of the result is %.17g, not %.17g (worker %u)",
				 own->wrong, a->base[RESULT][own->wrong],
				 contents_element(s->kernel, own->wrong), i);
			return sentence;
		}
	}
	return NULL;
}

static struct needs needs(const struct trial *trial)
{
	const struct kernel *k = kernel_of(trial);

	if (trial->value[BYTES].count / trial->machine->line < trial->threads)
		return (struct needs){ .pointless = "each thread needs at least one cache line of "
						    "the arrays; choose a larger size" };
	return (struct needs){
		.bytes = (k->reads + k->writes) * region_takes(trial->machine,
							       elements_of(trial) * sizeof(double),
							       trial->value[PAGES].choice),
	};
}

/*
 * Adds a single thread: the bandwidth of one core from each node, beside that of all cores of a
 * node.
 */
static const struct override with_one_core[] = {
	{ THREADS_ON, { "1,packed,split", "1,packed,split,all", "packed,split" } }, { 0 }
};

enum { MATRIX_ONLY = BIT(FROM) | BIT(TO) };
static const struct variant variants[] = {
	{ "single", "one thread touches all pages: they lie on its node", &single, MATRIX_ONLY,
	  .several_nodes = true },
	{ "random", "threads touch granules at random (with huge pages a different experiment)",
	  &at_random, MATRIX_ONLY, .several_nodes = true },
	{ "static", "each thread touches what it will use", &by_part, MATRIX_ONLY, with_one_core },
	{ "interleave", "pages in turn on all nodes with memory, whoever touches them", &interleave,
	  MATRIX_ONLY, .several_nodes = true },
	{ "bind", "all pages on one node, whoever touches them", &bound, BIT(FROM), with_one_core,
	  .several_nodes = true },
	{ "migrate", "as single, then moved to where they are used", &migrate, MATRIX_ONLY,
	  .several_nodes = true },
	{ "matrix", "threads on one node, pages on another: node x node", &bound, BIT(THREADS_ON),
	  .several_nodes = true },
	{ 0 }
};

static const struct role roles[] = { { "thread", NULL, BY_COUNT }, { 0 } };

const struct benchmark numa_benchmark = {
	.name = "numa",
	.summary = "memory bandwidth by where pages lie: first touch, interleaved, bound, migrated",
	.protocol = { 1,
		      "all threads go over the arrays together, each over a contiguous part of "
		      "its own, as often as fills the sample",
		      "jsl2023" },
	.unit = { "pass", .part = "line", .parts = lines },
	.parameters = parameters,
	.metrics = metrics,
	.counters = counters,
	.variants = variants,
	.ops = { prepare, enter, NULL, work, collect, verify, free },
	.roles = roles,
	.preset = { [QUICK] = { .sample = 10e-3 }, [PAPER] = { .threads = "16" } },
	.needs = needs,
};
