/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The numa benchmark through its whole life, without the harness: every variant and kernel, and
 * deliberately wrong answers.
 */
#include <math.h>
#include <numaif.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "bench/numa/numa.h"
#include "benchmarks.h"
#include "machine/memory/arena.h"
#include "machine/topology/topology.h"
#include "machine/memory/placement.h"

/* The order of the parameters, as numa.c has it. */
enum { KERNEL, BYTES, PAGES, THREADS_ON, FROM, TO, CHUNK, PARAMETERS };
/* The chunk divides no array evenly, and is not a whole number of pages. */
enum { MOST_THREADS = 3, ROUNDS = 2, CHUNK_OF_TEST = 700 };

struct result {
	unsigned reports;
};

void report_by_worker(struct result *r, unsigned metric, unsigned worker, double value)
{
	assert_int_equal(numa_benchmark.metrics[metric].kind, M_IMBALANCE);
	assert_true(worker < MOST_THREADS && value >= 0);
	r->reports++;
}

double elapsed(const struct result *r)
{
	(void)r;
	return 1;
}

void report(struct result *r, unsigned metric, double value)
{
	assert_true(numa_benchmark.metrics[metric].name && !numa_benchmark.metrics[metric].amount);
	assert_true(value >= 0);
	r->reports++;
}

struct world {
	const struct machine *machine;
	union value value[PARAMETERS];
	struct place place[MOST_THREADS];
	struct trial trial;
};

static void settle(struct world *w, const struct machine *m, struct team *team, const char *variant,
		   unsigned kernel, size_t bytes, unsigned threads)
{
	unsigned v = 0;

	while (strcmp(numa_benchmark.variants[v].name, variant))
		v++;
	*w = (struct world){ .machine = m };
	w->value[KERNEL].choice = kernel;
	w->value[BYTES].count = bytes;
	w->value[PAGES].choice = PAGES_BASE;
	w->value[CHUNK].count = CHUNK_OF_TEST;
	w->value[TO].count = (uint64_t)m->node[0].number;
	for (unsigned i = 0; i < threads; i++)
		w->place[i] =
			(struct place){ m->cpu[i % m->cpus].number, m->cpu[i % m->cpus].node };
	w->trial = (struct trial){ .benchmark = &numa_benchmark,
				   .variant = &numa_benchmark.variants[v],
				   .value = w->value,
				   .threads = threads,
				   .place = w->place,
				   .machine = m,
				   .seed = 1,
				   .team = team };
}

/*
 * Returns verify()'s answer after `work` (NULL: the variant's) ran twice. Reads the placement
 * unless it is NULL.
 */
static const char *live(struct world *w, void (*work)(void *, struct worker *),
			struct placement *placement)
{
	const struct ops *own = w->trial.variant->ops, *v = own ? own : &numa_benchmark.ops;
	const char *wrong;
	struct result result = { 0 };
	unsigned culprit;
	void *state;

	assert_int_equal(team_seat(w->trial.team, w->place, w->trial.threads, &culprit), 0);
	w->trial.arena = arena_open(w->machine);
	assert_non_null(w->trial.arena);
	state = v->prepare(&w->trial);
	if (!state && arena_refusal(w->trial.arena))
		fail_msg("%s: %s", w->trial.variant->name, arena_refusal(w->trial.arena));
	assert_non_null(state);
	team_run(w->trial.team, v->enter, state);
	for (unsigned round = 0; round < ROUNDS; round++) {
		for (unsigned i = 0; i < w->trial.threads; i++)
			team_worker(w->trial.team, i)->count = 1 + round * 2;
		if (v->reset)
			v->reset(state);
		team_run(w->trial.team, work ? work : v->work, state);
		v->collect(state, &w->trial, &result);
	}
	assert_true(result.reports >= ROUNDS);
	if (placement)
		assert_int_equal(arena_placement(w->trial.arena, placement), 0);
	wrong = v->verify(state, &w->trial);
	v->release(state);
	arena_close(w->trial.arena);
	return wrong;
}

/* Runs body inside a team. */
static void in_team(int (*body)(struct team *, void *))
{
	const char *error;
	struct machine *m = machine_open(NULL, &error);

	assert_non_null(m);
	assert_int_equal(team_open(MOST_THREADS, body, m), 0);
	machine_close(m);
}

/* `balance` must see where pages lie, which containers forbid. */
static bool is_possible(const struct variant *v)
{
	int node;
	void *page = &node;

	return strcmp(v->name, "balance") != 0 || !move_pages(0, 1, &page, NULL, &node, 0);
}

/*
 * If the kernel moves no pages, `balance` waits for seconds in vain. The next test, of one kernel,
 * includes it nevertheless.
 */
static bool waits_in_vain(const struct variant *v, const struct machine *m)
{
	return m->nodes > 1 && v->available && v->available();
}

static int every_variant_and_kernel(struct team *team, void *machine)
{
	const struct machine *m = machine;
	/*
	 * Tries every third of the 9 pairs of size and threads, starting at a pair that depends on
	 * kernel and variant: so each kernel, and each variant, meets all sizes and numbers of
	 * threads.
	 */
	enum { STRIDE = 3 };
	const size_t sizes[] = { MOST_THREADS * m->line, 3 * m->page + m->line + sizeof(double),
				 20011 * sizeof(double) };
	enum isa set;
	struct world w;

	for (const struct variant *v = numa_benchmark.variants;
	     v < numa_benchmark.variants + numa_benchmark.n_variants; v++)
		for (unsigned kernel = 0; kernel < KERNELS; kernel++)
			for (size_t i = ((size_t)(v - numa_benchmark.variants) + kernel) % STRIDE;
			     is_possible(v) && !waits_in_vain(v, m) &&
			     kernel_choose(&kernels[kernel], &set) && i < 3 * MOST_THREADS;
			     i += STRIDE) {
				settle(&w, m, team, v->name, kernel, sizes[i / MOST_THREADS],
				       1 + (unsigned)i % MOST_THREADS);
				assert_null(live(&w, NULL, NULL));
			}
	return 0;
}

static void test_every_variant_and_kernel_is_right(void **state)
{
	(void)state;
	in_team(every_variant_and_kernel);
}

/* All pages are touched, counted, and on the node that was claimed for them. */
static int all_pages(struct team *team, void *machine)
{
	const struct machine *m = machine;
	const size_t bytes = 41 * m->page + 5 * m->line;
	struct placement p;
	struct world w;
	bool dealt; /* chunks are dealt anew in each pass: no page has a fixed user */

	for (const struct variant *v = numa_benchmark.variants;
	     v < numa_benchmark.variants + numa_benchmark.n_variants; v++) {
		if (!is_possible(v))
			continue;
		settle(&w, m, team, v->name, TRIAD, bytes, 2);
		assert_null(live(&w, NULL, &p));
		assert_int_equal(p.pages, 3 * 42);
		assert_int_equal(p.unmapped, 0);
		assert_int_equal(p.misplaced, 0);
		dealt = strcmp(v->name, "static-dynamic") == 0;
		/* in each array, the page on the border between the two workers has no user */
		assert_true(p.how != PLACEMENT_VERIFIED || dealt ||
			    (p.used >= 3 * 41 && (m->nodes > 1 || p.local == p.used)));
		placement_free(&p);
	}
	return 0;
}

static void test_all_pages_lie_where_they_are_claimed(void **state)
{
	(void)state;
	in_team(all_pages);
}

static void nothing(void *state, struct worker *self)
{
	(void)state;
	self->done = self->count;
}

/* Takes a chunk of the first pass before the loop begins: whoever comes first surely gets one. */
static void all_but_some(void *state, struct worker *self)
{
	const struct variant *v = numa_benchmark.variants;

	while (strcmp(v->name, "static-dynamic"))
		v++;
	atomic_fetch_add(&((struct state *)state)->arrays.loop.counter[0].taken, 1);
	v->ops->work(state, self);
}

static int lies(struct team *team, void *machine)
{
	struct world w;
	const char *wrong;

	settle(&w, machine, team, "static", COPY, 1 << 16, 2);
	wrong = live(&w, nothing, NULL);
	assert_non_null(wrong);
	assert_string_equal(wrong, "element 0 of the result is -1, not 0 (worker 0)");
	return 0;
}

static void test_what_was_not_stored_is_noticed(void **state)
{
	(void)state;
	in_team(lies);
}

static int a_chunk_is_left_out(struct team *team, void *machine)
{
	struct world w;
	const char *wrong;

	settle(&w, machine, team, "static-dynamic", SUM, 1 << 16, 2);
	wrong = live(&w, all_but_some, NULL);
	assert_non_null(wrong);
	assert_non_null(strstr(wrong, "all workers summed "));
	return 0;
}

static void test_a_chunk_that_is_left_out_is_noticed(void **state)
{
	(void)state;
	in_team(a_chunk_is_left_out);
}

static double amount(const char *metric, const struct trial *t)
{
	const struct metric *m = numa_benchmark.metrics;

	while (strcmp(m->name, metric))
		m++;
	return m->amount(t);
}

/* A page that was not touched again is noticed, and so is one that was not freed before. */
static void touched_whole(void *state, struct worker *self)
{
	arrays_touch(&((struct state *)state)->arrays, self->index);
	self->done = self->count;
}

static int pages_stay(struct team *team, void *machine)
{
	struct world w;

	settle(&w, machine, team, "touch", SUM, 1 << 16, 1);
	assert_null(live(&w, NULL, NULL));
	assert_non_null(live(&w, nothing, NULL));
	assert_non_null(live(&w, touched_whole, NULL));
	assert_true(isnan(amount("flops", &w.trial)) && isnan(amount("traffic", &w.trial)));
	assert_true(amount("bandwidth", &w.trial) == 1 << 16);
	return 0;
}

static void test_first_touch_is_checked(void **state)
{
	(void)state;
	in_team(pages_stay);
}

static void test_bytes_are_counted_with_and_without_allocation(void **state)
{
	static const struct {
		unsigned kernel;
		double asked, moved, flops; /* of an element */
	} rows[] = {
		{ SUM, 8, 8, 1 },	 { SUM_SCALAR, 8, 8, 1 }, { COPY, 16, 24, 0 },
		{ SCALE, 16, 24, 1 },	 { ADD, 24, 32, 1 },	  { TRIAD, 24, 32, 2 },
		{ COPY_NT, 16, 16, 0 },	 { SCALE_NT, 16, 16, 1 }, { ADD_NT, 24, 24, 1 },
		{ TRIAD_NT, 24, 24, 2 },
	};
	const char *error;
	struct machine *m = machine_open(NULL, &error);
	struct world w;

	(void)state;
	assert_non_null(m);
	for (unsigned i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		settle(&w, m, NULL, "static", rows[i].kernel, 1000 * sizeof(double) + 1, 1);
		assert_true(amount("bandwidth", &w.trial) == 1000 * rows[i].asked);
		assert_true(amount("traffic", &w.trial) == 1000 * rows[i].moved);
		assert_true(amount("flops", &w.trial) == 1000 * rows[i].flops);
		assert_int_equal(numa_benchmark.needs(&w.trial).bytes,
				 1000 * (size_t)rows[i].asked);
	}
	machine_close(m);
}

/*
 * On any machine three arrays fit into memory. If memory allows, an array is at least 4 times the
 * caches of all cores, in quick larger than them; and if it allows both, the arrays of all
 * placements fit together.
 */
static void test_automatic_size_suits_the_machine(void **state)
{
	static const struct {
		const char *machine; /* for hwloc, 1 GB is 10^9 bytes */
		uint64_t memory, mib, quick_mib;
	} rows[] = {
		{ "node:2(memory=16GB) core:8 pu:1", UINT64_C(32000000000), 512, 128 },
		{ "node:1(memory=1GB) l3:1(size=32MB) core:2 pu:1", UINT64_C(1000000000), 128,
		  128 },
		{ "node:8(memory=256GB) l3:1(size=256MB) core:16 pu:2", UINT64_C(2048000000000),
		  8192, 2048 },
		{ "node:1(memory=2GB) l3:1(size=1GB) core:4 pu:1", UINT64_C(2000000000), 256, 256 },
		/* 16 caches of 32 MB: 4 times one of them is a quarter of their sum */
		{ "node:1(memory=24GB) l3:16(size=32MB) core:4 pu:1", UINT64_C(24000000000), 2048,
		  512 },
	};
	const char *error;

	(void)state;
	for (unsigned i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct machine *m = machine_open(rows[i].machine, &error);
		uint64_t size;

		assert_non_null(m);
		size = numa_benchmark.parameters[BYTES].automatic(m, STANDARD);
		assert_int_equal(size, rows[i].mib << 20);
		assert_true(3 * size <= rows[i].memory);
		size = numa_benchmark.parameters[BYTES].automatic(m, QUICK);
		assert_int_equal(size, rows[i].quick_mib << 20);
		assert_true(3 * size <= rows[i].memory);
		machine_close(m);
	}
}

static void test_what_is_too_small_is_refused(void **state)
{
	const char *error;
	struct machine *m = machine_open(NULL, &error);
	struct world w;

	(void)state;
	assert_non_null(m);
	settle(&w, m, NULL, "static", SUM, 2 * m->line, 2);
	assert_null(numa_benchmark.needs(&w.trial).pointless);
	settle(&w, m, NULL, "static", SUM, 2 * m->line - 1, 2);
	assert_non_null(strstr(numa_benchmark.needs(&w.trial).pointless, "larger size"));
	machine_close(m);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_variant_and_kernel_is_right),
		cmocka_unit_test(test_all_pages_lie_where_they_are_claimed),
		cmocka_unit_test(test_what_was_not_stored_is_noticed),
		cmocka_unit_test(test_a_chunk_that_is_left_out_is_noticed),
		cmocka_unit_test(test_first_touch_is_checked),
		cmocka_unit_test(test_bytes_are_counted_with_and_without_allocation),
		cmocka_unit_test(test_automatic_size_suits_the_machine),
		cmocka_unit_test(test_what_is_too_small_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
