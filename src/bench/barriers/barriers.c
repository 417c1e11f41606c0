/* SPDX-License-Identifier: Apache-2.0 */
/*
 * barriers - all threads wait until all have arrived: how long that takes, and how far apart they
 * leave.
 */
#include <errno.h>
#include <omp.h>
#include <stdlib.h>

#include "bench/barriers/kinds.h"
#include "benchmark.h"
#include "kit/events.h"
#include "kit/histogram.h"
#include "kit/spin.h"
#include "machine/clock.h"
#include "machine/memory/region.h"
#include "machine/topology/topology.h"

enum { TIME, SKEW };
static const struct metric metrics[] = {
	[TIME] = TIME_METRIC("barrier"),
	[SKEW] = { "skew", "s",
		   "time from the first thread's leaving a barrier to the last thread's",
		   LOWER_IS_BETTER, .kind = M_DISTRIBUTION },
};

static const struct ratio ratios[] = {
	{ "slowdown", "of a shared counter against dissemination", P_VARIANT, "central",
	  "dissemination", NULL },
	{ "slowdown", "of OpenMP's barrier against dissemination", P_VARIANT, "openmp",
	  "dissemination", NULL },
	{ "slowdown", "of the C library's barrier against dissemination", P_VARIANT, "pthread",
	  "dissemination", NULL },
};

struct state {
	const struct kind *kind;
	struct barrier barrier;
	struct histogram *skew;
	double tick; /* s */
	struct visitor visitor[];
};

/* Threads that read a post lie on its node: each post has a page. */
static bool get_memory(struct state *s, const struct trial *t)
{
	const size_t page = t->machine->page;
	struct region *r = region_map(t->arena, "posts", t->threads * page, PAGES_BASE);

	for (unsigned i = 0; r && i < t->threads; i++) {
		region_home(r, i * page, page, t->place[i].node);
		region_user(r, i * page, page, t->place[i].node);
	}
	s->skew = apart_alloc(sizeof(*s->skew));
	if (!r || !s->skew)
		return false;
	s->barrier.posts = region_base(r);
	s->barrier.page = page;
	return true;
}

/*
 * False: OpenMP's barrier would wait for threads that this trial does not use. Worker 0 runs this
 * in the parallel region, which has all threads of the run.
 */
static bool may_meet(const struct trial *t, const struct kind *kind)
{
	const unsigned region = (unsigned)omp_get_num_threads();

	if (!kind->of_openmp || region == t->threads)
		return true;
	arena_cannot(t->arena,
		     "OpenMP's barrier includes all %u threads of the run: give only --threads %u",
		     region, t->threads);
	errno = ENOTSUP;
	return false;
}

static void *prepare(const struct trial *t)
{
	struct state *s = may_meet(t, t->variant->data)
				  ? apart_alloc(sizeof(*s) + t->threads * sizeof(struct visitor))
				  : NULL;

	if (!s)
		return NULL;
	s->kind = t->variant->data;
	s->tick = clock_tick();
	s->barrier.threads = t->threads;
	/* a thread yields at once if the thread that it waits for may need its CPU */
	s->barrier.spins = t->oversubscribed ? 0 : LOCK_SPINS;
	for (unsigned i = 0; i < t->threads; i++)
		s->visitor[i].index = i;
	if (get_memory(s, t) && !pthread_barrier_init(&s->barrier.library, NULL, t->threads))
		return s;
	free(s->skew);
	free(s);
	return NULL;
}

static void enter(void *state, struct worker *self)
{
	const struct state *s = state;

	s->barrier.posts[self->index * s->barrier.page] = 0; /* first touch */
}

static void work(void *state, struct worker *self)
{
	struct state *s = state;

	s->kind->pass(&s->barrier, &s->visitor[self->index], self->count);
	self->done = self->count;
}

static void collect(void *state, const struct trial *t, struct result *result)
{
	struct state *s = state;

	histogram_clear(s->skew);
	for (unsigned k = 0; k < s->visitor[0].kept; k++) {
		uint64_t first = s->visitor[0].left[k], last = first;

		for (unsigned i = 1; i < t->threads; i++) {
			const uint64_t left = s->visitor[i].left[k];

			first = left < first ? left : first;
			last = left > last ? left : last;
		}
		histogram_add(s->skew, (double)(last - first));
	}
	report_distribution(result, SKEW, s->skew, s->tick);
}

static void check(void *state, struct worker *self)
{
	enum { BARRIERS = 100 };
	struct state *s = state;

	s->kind->check(&s->barrier, &s->visitor[self->index], s->visitor, BARRIERS);
}

static const char *verify(void *state, const struct trial *t)
{
	struct state *s = state;

	team_run(t->team, check, s);
	for (unsigned i = 0; i < t->threads; i++)
		if (s->visitor[i].early)
			return "a thread left a barrier before all had arrived";
	return NULL;
}

static void release(void *state)
{
	struct state *s = state;

	pthread_barrier_destroy(&s->barrier.library);
	free(s->skew);
	free(s);
}

static struct needs needs(const struct trial *t)
{
	if (t->threads < 2)
		return (struct needs){ .pointless = "it needs at least two threads" };
	if (t->threads > KINDS_MOST_THREADS)
		return (struct needs){ .pointless = "at most 2^12 threads can meet at a barrier" };
	return (struct needs){ .bytes = t->threads * t->machine->page };
}

static const struct variant variants[] = {
	{ "central", "a counter; the last thread to arrive releases the others", &kind_central },
	{ "tree", "arrivals go up a tree, releases come down (Mellor-Crummey and Scott)",
	  &kind_tree },
	{ "dissemination", "each thread signals one other in each of log2(threads) rounds",
	  &kind_dissemination },
	{ "pthread", "pthread_barrier_wait()", &kind_library },
	{ "openmp", "OpenMP's barrier, for all threads of the run", &kind_openmp },
};

static const struct role roles[] = { { "thread", NULL, BY_COUNT } };

static const struct explained counters[] = {
	{ EVENT_CYCLES, "cycles per barrier, independent of the frequency" },
	{ EVENT_INSTRUCTIONS, "instructions: they grow with the time of waiting" },
	{ EVENT_L1_MISSES, "misses: lines that another thread has written" },
	{ EVENT_L3_MISSES, "lines from beyond the last-level cache: from another package" },
};

const struct benchmark barriers_benchmark = {
	.name = "barriers",
	.summary = "cost of a barrier: all threads wait until all have arrived",
	.protocol = { 1,
		      "threads pass one barrier after another, with nothing between; at every "
		      "64th, or more rarely, each records when it leaves",
		      "mellor1991" },
	.unit = { "barrier", .cycles = true },
	ROWS(metrics, metrics),
	ROWS(ratios, ratios),
	ROWS(counters, counters),
	ROWS(variants, variants),
	.ops = { prepare, enter, NULL, work, collect, verify, release },
	ROWS(roles, roles),
	.preset = {
		[QUICK] = { .threads = "auto", .sample = 5e-3 },
		[STANDARD] = { .threads = "2..auto*2,auto" },
	},
	.needs = needs,
};
