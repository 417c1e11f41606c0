/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The node that the numa benchmark claims for each page, against the node that the page would get
 * on a machine of three nodes, the last without CPUs. Memory is simulated: this file implements
 * region.h, workers touch one after the other, and a page lies on the node of the worker that
 * changed it first.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "bench/numa/kernels.h"
#include "benchmarks.h"
#include "machine/memory/region.h"
#include "machine/topology/topology.h"

/* The order of the parameters, as numa.c has it. */
enum { KERNEL, BYTES, PAGES, THREADS_ON, FROM, TO, CHUNK, PARAMETERS };
enum {
	THREADS = 4,
	NODES = 3,
	PAGE = 1024,
	ELEMENTS_OF_PAGE = PAGE / sizeof(double),
	MOST_PAGES = 512,
	MOST_REGIONS = 3
};
#define FRESH 77.0 /* no array ever holds it */

struct region {
	double memory[MOST_PAGES * ELEMENTS_OF_PAGE];
	size_t bytes;
	int node[MOST_PAGES], home[MOST_PAGES], user[MOST_PAGES]; /* ANY_NODE: none yet */
	int bound;
	bool interleaved, even;
};
struct arena {
	struct region *region[MOST_REGIONS];
	unsigned regions;
	bool refuses, refused;
};

static size_t pages_of(const struct region *r)
{
	return (r->bytes + PAGE - 1) / PAGE;
}

struct region *region_map(struct arena *a, const char *name, size_t bytes, enum pages pages)
{
	struct region *r = malloc(sizeof(*r));

	(void)name, (void)pages;
	assert_non_null(r);
	assert_true(bytes <= sizeof(r->memory) && a->regions < MOST_REGIONS);
	r->bytes = bytes;
	r->bound = ANY_NODE;
	r->interleaved = r->even = false;
	for (size_t i = 0; i < MOST_PAGES; i++)
		r->node[i] = r->home[i] = r->user[i] = ANY_NODE;
	for (size_t i = 0; i < sizeof(r->memory) / sizeof(double); i++)
		r->memory[i] = FRESH;
	return a->region[a->regions++] = r;
}

void *region_base(const struct region *r)
{
	return (void *)r->memory;
}

size_t region_granule(const struct region *r)
{
	(void)r;
	return PAGE;
}

size_t region_takes(const struct machine *m, size_t bytes, enum pages pages)
{
	(void)m, (void)pages;
	return bytes;
}

int region_bind(struct region *r, int node)
{
	r->bound = node;
	return 0;
}

int region_interleave(struct region *r)
{
	r->interleaved = true;
	return 0;
}

static void claim(const struct region *r, int *of, size_t offset, size_t bytes, int node)
{
	size_t last = offset + bytes >= r->bytes ? pages_of(r) : (offset + bytes) / PAGE;

	for (size_t page = (offset + PAGE - 1) / PAGE; page < last; page++) {
		assert_int_equal(of[page], ANY_NODE); /* claimed once */
		of[page] = node;
	}
}

void region_home(struct region *r, size_t offset, size_t bytes, int node)
{
	claim(r, r->home, offset, bytes, node);
}

void region_user(struct region *r, size_t offset, size_t bytes, int node)
{
	claim(r, r->user, offset, bytes, node);
}

void region_even(struct region *r)
{
	r->even = true;
}

long region_migrate(struct region *r)
{
	for (size_t page = 0; page < pages_of(r); page++) {
		/* it is touched before it is moved */
		assert_int_not_equal(r->node[page], ANY_NODE);
		if (r->user[page] != ANY_NODE)
			r->node[page] = r->user[page];
	}
	return 0;
}

void *arena_cannot(struct arena *a, const char *format, ...)
{
	if (!a->refuses)
		fail_msg("%s", format);
	a->refused = true;
	return NULL;
}

void report(struct result *r, unsigned metric, double value)
{
	(void)r, (void)metric, (void)value;
}

/* Two threads on each of the first two nodes. */
struct team {
	struct arena *arena;
	struct worker worker[THREADS];
};

/*
 * Places pages that changed since the last call: by policy, else on the node of the worker that
 * touched them.
 */
static void fault_in(struct region *r, int toucher)
{
	for (size_t page = 0; page < pages_of(r); page++) {
		const double *p = r->memory + page * ELEMENTS_OF_PAGE;

		for (size_t i = 0; r->node[page] == ANY_NODE && i < ELEMENTS_OF_PAGE; i++)
			if (p[i] != FRESH)
				r->node[page] = r->bound != ANY_NODE ? r->bound
						: r->interleaved     ? (int)(page % NODES)
								     : toucher;
	}
}

size_t region_bytes(const struct region *r)
{
	return r->bytes;
}

int region_discard(struct region *r)
{
	(void)r;
	errno = EINVAL;
	return -1;
}

double elapsed(const struct result *r)
{
	(void)r;
	return 1;
}

/* Workers run one after the other. */
void team_barrier(struct team *t)
{
	(void)t;
}

void report_by_worker(struct result *r, unsigned metric, unsigned worker, double value)
{
	(void)r, (void)metric, (void)worker, (void)value;
}

void team_run(struct team *t, void (*task)(void *, struct worker *), void *argument)
{
	for (unsigned i = 0; i < THREADS; i++) {
		task(argument, &t->worker[i]);
		for (unsigned r = 0; r < t->arena->regions; r++)
			fault_in(t->arena->region[r], t->worker[i].place.node);
	}
}

/* The placement that each variant promises, for every page of every array. */
static const struct expectation {
	const char *variant;
	int to;
	enum { ON_FIRST, WITH_USER, ON_TARGET, EVENLY, ANYHOW, BY_PART } where;
} expectations[] = {
	{ "single", 0, ON_FIRST },
	{ "random", 0, ANYHOW },
	{ "static", 0, WITH_USER },
	{ "interleave", 0, EVENLY },
	{ "bind", 0, ON_TARGET },
	{ "bind", 2, ON_TARGET },
	{ "migrate", 0, WITH_USER },
	{ "matrix", 1, ON_TARGET },
	{ "matrix", 2, ON_TARGET },
	/* workers run one after the other: the first takes all chunks */
	{ "static-dynamic", 0, BY_PART },
	{ "dynamic-static", 0, ON_FIRST },
};

static int node_expected(const struct expectation *e, const struct region *r, size_t page)
{
	switch (e->where) {
	case ON_FIRST:
		return 0;
	case WITH_USER:
		return r->user[page];
	case ON_TARGET:
		return e->to;
	case EVENLY:
		return (int)(page % NODES);
	case ANYHOW:
	case BY_PART:
		break;
	}
	return r->node[page];
}

/*
 * A page may lack a user, or a home, only on a border between two workers: one page at most. If
 * chunks are dealt anew in each pass, no page has a user.
 */
static void check(const struct expectation *e, const struct region *r, unsigned counts[NODES])
{
	unsigned unused = 0, unclaimed = 0;

	for (size_t page = 0; page < pages_of(r); page++) {
		assert_in_range(r->node[page], 0, NODES - 1);
		counts[r->node[page]]++;
		unused += r->user[page] == ANY_NODE;
		unclaimed += r->home[page] == ANY_NODE;
		if (r->home[page] != ANY_NODE)
			assert_int_equal(r->home[page], r->node[page]);
		if (r->user[page] != ANY_NODE)
			assert_int_equal(node_expected(e, r, page), r->node[page]);
	}
	if (e->where == BY_PART)
		assert_int_equal(unused, pages_of(r));
	else
		assert_true(unused < THREADS);
	assert_true(r->even == (e->where == EVENLY));
	assert_true(r->even ? unclaimed == pages_of(r) : unclaimed < THREADS);
	assert_true(e->where == WITH_USER || e->where == BY_PART || r->even || unclaimed == 0);
}

/*
 * Random touch: the share of a node is a half within 6 standard deviations of the binomial
 * distribution, and the pages differ between allocations.
 */
static void test_pages_come_to_lie_where_they_are_claimed(void **state)
{
	const struct expectation *e = *state;
	const char *error;
	struct machine *m = machine_open("node:2 core:2 pu:1", &error);
	static const struct place place[THREADS] = { { 0, 0 }, { 1, 0 }, { 2, 1 }, { 3, 1 } };
	const struct ops *ops;
	unsigned v = 0, counts[2][NODES] = { { 0 } };

	assert_non_null(m);
	while (strcmp(numa_benchmark.variants[v].name, e->variant))
		v++;
	ops = numa_benchmark.variants[v].ops;
	if (!ops)
		ops = &numa_benchmark.ops;
	for (unsigned allocation = 0; allocation < 2; allocation++) {
		struct arena arena = { .regions = 0 };
		struct team team = { .arena = &arena };
		union value value[PARAMETERS] = { [KERNEL].choice = TRIAD,
						  [BYTES].count = 317 * PAGE + 3 * 64 + 8,
						  [TO].count = (uint64_t)e->to,
						  [CHUNK].count = 3 * ELEMENTS_OF_PAGE };
		struct trial t = { .benchmark = &numa_benchmark,
				   .variant = &numa_benchmark.variants[v],
				   .value = value,
				   .threads = THREADS,
				   .place = place,
				   .machine = m,
				   .seed = 1,
				   .allocation = allocation,
				   .arena = &arena,
				   .team = &team };
		void *s;

		for (unsigned i = 0; i < THREADS; i++)
			team.worker[i] = (struct worker){
				.index = i, .threads = THREADS, .place = place[i], .count = 1
			};
		s = ops->prepare(&t);
		assert_non_null(s);
		team_run(&team, ops->enter, s);
		assert_int_equal(arena.regions, 3);
		for (unsigned r = 0; r < arena.regions; r++)
			check(e, arena.region[r], counts[allocation]);
		team_run(&team, ops->work, s);
		assert_null(ops->verify(s, &t));
		ops->release(s);
		for (unsigned r = 0; r < arena.regions; r++)
			free(arena.region[r]);
	}
	machine_close(m);
	if (e->where != ANYHOW)
		return;
	assert_in_range(counts[0][0], 3 * 318 / 2 - 93, 3 * 318 / 2 + 93);
	assert_int_equal(counts[0][0] + counts[0][1], 3 * 318);
	assert_memory_not_equal(counts[0], counts[1], sizeof(counts[0]));
}

/* Kernels before 5.18 cannot free reserved huge pages. */
static void test_pages_that_stay_are_told(void **state)
{
	const char *error;
	struct machine *m = machine_open("node:2 core:2 pu:1", &error);
	struct arena arena = { .refuses = true };
	union value value[PARAMETERS] = { [BYTES].count = 8 * PAGE };
	static const struct place place = { 0, 0 };
	const struct variant *v = numa_benchmark.variants;
	struct trial t = { .benchmark = &numa_benchmark,
			   .value = value,
			   .threads = 1,
			   .place = &place,
			   .machine = m,
			   .arena = &arena };

	(void)state;
	assert_non_null(m);
	while (strcmp(v->name, "touch"))
		v++;
	t.variant = v;
	assert_null(v->ops->prepare(&t));
	assert_true(arena.refused);
	free(arena.region[0]);
	machine_close(m);
}

int main(void)
{
	enum { N = sizeof(expectations) / sizeof(*expectations) };
	struct CMUnitTest tests[N + 1];

	for (unsigned i = 0; i < N; i++)
		tests[i] = (struct CMUnitTest){ expectations[i].variant,
						test_pages_come_to_lie_where_they_are_claimed, NULL,
						NULL, (void *)&expectations[i] };
	tests[N] = (struct CMUnitTest)cmocka_unit_test(test_pages_that_stay_are_told);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
