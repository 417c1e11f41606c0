/* SPDX-License-Identifier: Apache-2.0 */
/*
 * numa - who touches a page first decides which node it lies on, and so how fast the others get at
 * it.
 *
 * Arrays of double are first touched in different ways, or placed by policy, and then streamed
 * through by all workers, each its own contiguous part as OpenMP's schedule(static) would deal it.
 * The work is the same in all variants; only where the pages lie differs. After Johnny's Software
 * Lab, "Multithreading and the Memory Subsystem" (2023): on two nodes single : random : static took
 * 2.65 : 1.47 : 1.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/numa/kernels.h"
#include "benchmark.h"
#include "kit/random.h"
#include "machine/limits.h"
#include "base/sysfs.h"
#include "machine/membind.h"
#include "machine/migrate.h"
#include "machine/topology.h"

#define GIB	       (UINT64_C(1) << 30)
#define PUBLISHED_SIZE (8 * GIB)
#define PLACEMENTS     6 /* variants, without the matrix */

enum { X, Y, RESULT, ARRAYS };

static uint64_t largest_size(const struct machine *, enum profile);

enum { KERNEL, BYTES, PAGES, THREADS_ON, FROM, TO };
static const struct parameter parameters[] = {
	[KERNEL] = { "kernel", NULL,
		     "what is done with the arrays; -nt: by stores that pass the caches", P_CHOICE,
		     .choices = KERNEL_CHOICES, .value = { "sum", "sum,triad", "sum-scalar" } },
	[BYTES] = { "size", "B", "of each array; a kernel has 1 to 3", P_SIZE,
		    .value = { "128M", "auto", "8G" }, .automatic = largest_size },
	[PAGES] = { "pages", NULL, "what the arrays are mapped with", P_CHOICE,
		    .choices = PAGES_CHOICES, .value = { "base", "base,thp" } },
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
	[BANDWIDTH] = { "bandwidth", "B/s", "what the kernel reads and writes", HIGHER_IS_BETTER,
			.amount = bytes_asked_for },
	[TRAFFIC] = { "traffic", "B/s",
		      "the same, and the lines that are read only to be overwritten (some CPUs "
		      "know better)",
		      HIGHER_IS_BETTER, .amount = bytes_with_allocation },
	[FLOPS] = { "flops", "flop/s", "additions and multiplications", HIGHER_IS_BETTER,
		    .amount = operations },
	[WIDTH] = { "vector", "B", "width of the vectors that this CPU let the kernel use",
		    .better = NEITHER },
	[GRANULE] = { "granule", "B", "that are touched, and so placed, together",
		      .better = NEITHER },
	[STUCK] = { "stuck", "page", "pages that would not move to the node that uses them",
		    .better = LOWER_IS_BETTER },
	TIME_METRIC("pass"),
	{ 0 }
};

/* What makes the variants differ. */
struct rule {
	enum { EACH_ITS_PART, FIRST_ALL, AT_RANDOM } touch; /* who touches a page first, */
	/* whether that decides where it lies, */
	enum { BY_TOUCH, BIND, INTERLEAVE } policy;
	bool moved; /* and whether it stays there */
};
static const struct rule single = { FIRST_ALL, BY_TOUCH, false },
			 at_random = { AT_RANDOM, BY_TOUCH, false },
			 by_part = { EACH_ITS_PART, BY_TOUCH, false },
			 interleave = { EACH_ITS_PART, INTERLEAVE, false },
			 bound = { EACH_ITS_PART, BIND, false },
			 migrate = { FIRST_ALL, BY_TOUCH, true };

/*
 * Small integers, so that sums are exact in whatever order; their periods are prime, so that no
 * whole line, vector or page is another's like. The result begins as what no kernel stores.
 */
static const struct content {
	const char *name;
	size_t period;
	double base;
} contents[ARRAYS] = {
	[X] = { "array x", 13, 0 },
	[Y] = { "array y", 7, 0 },
	[RESULT] = { "the result", 1, -1 },
};

/* Elements of the arrays that one worker streams through; and what came of it. */
struct part {
	_Alignas(APART) size_t begin, end;
	double *array[ARRAYS]; /* from begin on; NULL: the kernel has no use for it */
	double sum;	       /* over all passes of a sample */
	uint64_t passes;
	size_t wrong; /* first wrong element; end: none is */
};

struct state {
	const struct kernel *kernel;
	const struct rule *rule;
	stream *run;
	unsigned width;
	size_t granule; /* bytes */
	size_t elements;
	double *array[ARRAYS];
	struct region *region[ARRAYS];
	uint64_t seed;
	unsigned threads;
	long stuck;
	struct part part[]; /* by worker */
};

static const struct kernel *kernel_of(const struct trial *trial)
{
	return &kernels[trial->value[KERNEL].choice];
}

static size_t elements_of(const struct trial *trial)
{
	return trial->value[BYTES].count / sizeof(double);
}

static bool uses(const struct kernel *k, unsigned array)
{
	return array == RESULT ? k->writes : array < k->reads;
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
	{ "PAPI_L3_TCM|perf::CACHE-MISSES",
	  "lines that no cache had: 1 where all comes from memory, less where prefetchers were "
	  "first and their reads are not counted" },
	{ "MEM_LOAD_L3_MISS_RETIRED:REMOTE_DRAM|MEM_LOAD_UOPS_L3_MISS_RETIRED:REMOTE_DRAM|DATA_"
	  "CACHE_REFILLS_FROM_SYSTEM:LS_MABRESP_RMT_DRAM|perf::NODE-LOAD-MISSES",
	  "loads that another node's memory served" },
	{ "PAPI_TLB_DM|perf::DTLB-LOAD-MISSES", "loads whose page the TLB did not know: 1 in 64 "
						"with pages of 4 KiB, hardly any with huge ones" },
	{ "PAPI_TOT_CYC|perf::CPU-CYCLES", "a line's cycles, of all threads together" },
	{ "PAPI_TOT_INS|perf::INSTRUCTIONS",
	  "how many instructions a line took: less with wider vectors" },
	{ 0 }
};

/* The value of `auto`. */

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

	if (m->here) {
		memory_limit_read(THIS_MACHINE, &limit);
		return limit.available;
	}
	for (unsigned i = 0; i < m->nodes; i++)
		sum += m->node[i].memory;
	return sum ? sum : NO_LIMIT;
}

/*
 * So small that all placements of the threads can be held at once and sampled in turn, and so large
 * that the caches don't matter: 4 times the last one. Where memory has no room for both, the second
 * counts for more.
 */
static uint64_t largest_size(const struct machine *m, enum profile profile)
{
	const uint64_t share = memory_of(m) / 10 * 8 / ARRAYS,
		       beyond_caches = power_above(4 * m->last_cache);
	uint64_t size = power_below(share / PLACEMENTS);

	(void)profile;
	if (size < beyond_caches)
		size = power_below(share) < beyond_caches ? power_below(share) : beyond_caches;
	return size < PUBLISHED_SIZE ? size : PUBLISHED_SIZE;
}

/* Parts. */

/* Where worker i's part begins: on a line, so that no line is stored to by two. */
static size_t border(const struct trial *trial, unsigned i)
{
	const size_t line = trial->machine->line / sizeof(double), elements = elements_of(trial);

	return i == trial->threads ? elements : elements / line * i / trial->threads * line;
}

static void cut(struct state *s, const struct trial *trial)
{
	for (unsigned i = 0; i < trial->threads; i++) {
		struct part *p = &s->part[i];

		p->begin = border(trial, i);
		p->end = border(trial, i + 1);
		p->wrong = p->end;
		for (unsigned a = 0; a < ARRAYS; a++)
			p->array[a] = s->array[a] ? s->array[a] + p->begin : NULL;
	}
}

/* Placement. */

/* The worker that a granule is dealt to. */
static unsigned dealt(const struct state *s, unsigned array, size_t granule)
{
	return mix(s->seed ^ mix(granule * ARRAYS + array)) % s->threads;
}

static void fill(const struct state *s, unsigned array, size_t begin, size_t end)
{
	const struct content *c = &contents[array];
	double *to = s->array[array];

	for (size_t i = begin, phase = begin % c->period; i < end; i++) {
		to[i] = c->base + (double)phase;
		phase = phase + 1 < c->period ? phase + 1 : 0;
	}
}

static size_t granules(const struct state *s)
{
	const size_t per_granule = s->granule / sizeof(double);

	return (s->elements + per_granule - 1) / per_granule;
}

/* Elements before the n-th granule. */
static size_t elements_before(const struct state *s, size_t granule)
{
	const size_t elements = granule * (s->granule / sizeof(double));

	return elements < s->elements ? elements : s->elements;
}

static void touch_array(const struct state *s, unsigned array, unsigned worker)
{
	switch (s->rule->touch) {
	case EACH_ITS_PART:
		fill(s, array, s->part[worker].begin, s->part[worker].end);
		return;
	case FIRST_ALL:
		if (worker == 0)
			fill(s, array, 0, s->elements);
		return;
	case AT_RANDOM:
		for (size_t g = 0; g < granules(s); g++)
			if (dealt(s, array, g) == worker)
				fill(s, array, elements_before(s, g), elements_before(s, g + 1));
	}
}

static void touch(void *state, struct worker *self)
{
	const struct state *s = state;

	for (unsigned a = 0; a < ARRAYS; a++)
		if (s->array[a])
			touch_array(s, a, self->index);
}

/* Says of elements of an array where they are to lie, or who uses them. */
static void claim(const struct state *s, void (*as)(struct region *, size_t, size_t, int),
		  unsigned array, size_t begin, size_t end, int node)
{
	as(s->region[array], begin * sizeof(double), (end - begin) * sizeof(double), node);
}

static void claim_by_part(const struct state *s, void (*as)(struct region *, size_t, size_t, int),
			  unsigned array, const struct trial *trial)
{
	for (unsigned i = 0; i < s->threads; i++)
		claim(s, as, array, s->part[i].begin, s->part[i].end, trial->place[i].node);
}

/* Where the first touch, or the move after it, is to bring the pages. */
static void claim_touched(const struct state *s, unsigned array, const struct trial *trial)
{
	if (s->rule->moved || s->rule->touch == EACH_ITS_PART) {
		claim_by_part(s, region_home, array, trial);
		return;
	}
	if (s->rule->touch == FIRST_ALL) {
		claim(s, region_home, array, 0, s->elements, trial->place[0].node);
		return;
	}
	for (size_t g = 0; g < granules(s); g++)
		claim(s, region_home, array, elements_before(s, g), elements_before(s, g + 1),
		      trial->place[dealt(s, array, g)].node);
}

/* Sets the policy of an array, and claims where its pages are to lie. */
static int place(const struct state *s, unsigned array, const struct trial *trial)
{
	struct region *region = s->region[array];
	const int node = (int)trial->value[TO].count;

	claim_by_part(s, region_user, array, trial);
	switch (s->rule->policy) {
	case BIND:
		claim(s, region_home, array, 0, s->elements, node);
		return region_bind(region, node);
	case INTERLEAVE:
		region_even(region);
		return region_interleave(region);
	case BY_TOUCH:
		claim_touched(s, array, trial);
	}
	return 0;
}

/* Touches now, so that there is something to move. */
static int move(struct state *s, const struct trial *trial)
{
	team_run(trial->team, touch, s);
	for (unsigned a = 0; a < ARRAYS; a++) {
		const long stuck = s->region[a] ? region_migrate(s->region[a]) : 0;

		if (stuck < 0) {
			cannot(trial->arena,
			       "pages can't be moved to another node: %s (a container may forbid "
			       "move_pages; --variant leaves "
			       "migrate out)",
			       strerror(errno));
			return -1;
		}
		s->stuck += stuck;
	}
	return 0;
}

/* The life of a trial. */

static int map(struct state *s, const struct trial *trial)
{
	for (unsigned a = 0; a < ARRAYS; a++) {
		if (!uses(s->kernel, a))
			continue;
		s->region[a] = region_map(trial->arena, contents[a].name,
					  s->elements * sizeof(double), trial->value[PAGES].choice);
		if (!s->region[a])
			return -1;
		s->array[a] = region_base(s->region[a]);
		s->granule = region_granule(s->region[a]);
	}
	return 0;
}

static int lay_out(struct state *s, const struct trial *trial)
{
	if (map(s, trial))
		return -1;
	cut(s, trial);
	for (unsigned a = 0; a < ARRAYS; a++)
		if (s->region[a] && place(s, a, trial))
			return -1;
	return s->rule->moved ? move(s, trial) : 0;
}

static void *prepare(const struct trial *trial)
{
	const struct kernel *kernel = kernel_of(trial);
	const size_t bytes = sizeof(struct state) + trial->threads * sizeof(struct part);
	enum instruction_set set;
	stream *run = kernel_choose(kernel, &set);
	struct state *s;

	if (!run)
		return cannot(trial->arena,
			      "%s needs stores that pass the caches, which this program does not "
			      "have for this architecture",
			      kernel->name);
	s = apart_alloc(bytes);
	if (!s)
		return NULL;
	s->kernel = kernel;
	s->rule = trial->variant->data;
	s->run = run;
	s->width = instruction_set_width(set);
	s->elements = elements_of(trial);
	s->threads = trial->threads;
	s->seed = mix(trial->seed + trial->allocation);
	if (!lay_out(s, trial))
		return s;
	free(s);
	return NULL;
}

static void enter(void *state, struct worker *self)
{
	const struct state *s = state;

	if (!s->rule->moved)
		touch(state, self);
}

static void work(void *state, struct worker *self)
{
	struct state *s = state;
	struct part *p = &s->part[self->index];

	p->sum = s->run(p->array[RESULT], p->array[X], p->array[Y], p->end - p->begin, self->count);
	p->passes = self->done = self->count;
}

static void collect(void *state, const struct trial *trial, struct result *result)
{
	const struct state *s = state;

	(void)trial;
	report(result, WIDTH, s->width);
	report(result, GRANULE, (double)s->granule);
	if (s->rule->moved)
		report(result, STUCK, (double)s->stuck);
}

static double content(unsigned array, size_t i)
{
	return contents[array].base + (double)(i % contents[array].period);
}

/* What to[i] must be now. */
static double expected(const struct kernel *k, size_t i)
{
	return k->of_x * content(X, i) + k->of_y * content(Y, i);
}

/* Sum of x[0..n). */
static double sum_below(size_t n)
{
	const size_t period = contents[X].period, rest = n % period;

	const size_t sum = n / period * (period * (period - 1) / 2) + rest * (rest - 1) / 2;

	return (double)sum;
}

static double expected_sum(const struct part *p)
{
	return (sum_below(p->end) - sum_below(p->begin)) * (double)p->passes;
}

static void check(void *state, struct worker *self)
{
	struct state *s = state;
	struct part *p = &s->part[self->index];

	for (p->wrong = p->begin; p->wrong < p->end; p->wrong++)
		if (s->array[RESULT][p->wrong] != expected(s->kernel, p->wrong))
			return;
}

static const char *verify(void *state, const struct trial *trial)
{
	/* until the next one: the state will be gone when it is read */
	static _Thread_local char sentence[200];
	struct state *s = state;

	if (s->kernel->writes)
		team_run(trial->team, check, s);
	for (unsigned i = 0; i < s->threads; i++) {
		const struct part *p = &s->part[i];

		if (!s->kernel->writes && p->sum != expected_sum(p)) {
			snprintf(sentence, sizeof(sentence),
				 "worker %u summed %.17g in %llu passes, not %.17g", i, p->sum,
				 (unsigned long long)p->passes, expected_sum(p));
			return sentence;
		}
		if (s->kernel->writes && p->wrong < p->end) {
			snprintf(sentence, sizeof(sentence),
				 "element %zu of the result is %.17g, not %.17g (worker %u)",
				 p->wrong, s->array[RESULT][p->wrong],
				 expected(s->kernel, p->wrong), i);
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

enum { MATRIX_ONLY = BIT(FROM) | BIT(TO) };
static const struct variant variants[] = {
	{ "single", "one thread touches all pages: they lie on its node", &single, MATRIX_ONLY },
	{ "random",
	  "threads touch pages at random, by granules (huge pages make it another experiment)",
	  &at_random, MATRIX_ONLY },
	{ "static", "each thread touches what it will use", &by_part, MATRIX_ONLY },
	{ "interleave", "pages in turn on all nodes with memory, whoever touches them", &interleave,
	  MATRIX_ONLY },
	{ "bind", "all pages on one node, whoever touches them", &bound, BIT(FROM) },
	{ "migrate", "as single, then moved to where they are used", &migrate, MATRIX_ONLY },
	{ "matrix", "threads on one node, pages on another: node x node", &bound, BIT(THREADS_ON) },
	{ 0 }
};

static const struct role roles[] = { { "thread", 0, BY_COUNT }, { 0 } };

const struct benchmark numa_benchmark = {
	.name = "numa",
	.summary = "what it costs that pages lie on another node than the threads that use them",
	.protocol = "all threads go over the arrays together, each over a contiguous part of its "
		    "own, as often as fills the sample",
	.source = "jsl2023",
	.unit = "pass",
	.parameters = parameters,
	.metrics = metrics,
	.counters = counters,
	.part = { "line", lines },
	.variants = variants,
	.ops = { prepare, enter, NULL, work, collect, verify, free },
	.roles = roles,
	.preset = { [QUICK] = { .sample = 10e-3 }, [PAPER] = { .threads = "16" } },
	.needs = needs,
};
