/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A pool: one part per worker, on the node claimed for it; and what happens when a part is empty.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <numa.h>
#include <cmocka.h>

#include "kit/pool.h"
#include "machine/topology/topology.h"
#include "machine/memory/placement.h"

enum { THREADS = 3, EACH = 10000 };

struct world {
	struct machine *machine;
	struct place place[THREADS];
	struct trial trial;
	struct worker worker[THREADS];
	struct pool *pool;
};

static int open_world(void **state)
{
	struct world *w = aligned_alloc(APART, sizeof(*w));
	const char *error;

	memset(w, 0, sizeof(*w));
	w->machine = machine_open(NULL, &error);
	/* this thread touches for all workers */
	numa_run_on_node(w->machine->node[0].number);
	for (unsigned i = 0; i < THREADS; i++) {
		w->place[i].node = w->machine->node[0].first_touch;
		w->worker[i].index = i;
	}
	w->trial = (struct trial){ .threads = THREADS,
				   .place = w->place,
				   .machine = w->machine,
				   .arena = arena_open(w->machine) };
	w->pool = pool_open(&w->trial, "the entries", EACH, PAGES_BASE);
	assert_non_null(w->pool);
	*state = w;
	return 0;
}

static int close_world(void **state)
{
	struct world *w = *state;

	numa_run_on_node(-1);
	pool_close(w->pool);
	arena_close(w->trial.arena);
	machine_close(w->machine);
	free(w);
	return 0;
}

static void touch_all(struct world *w)
{
	for (unsigned i = 0; i < THREADS; i++)
		pool_touch(w->pool, &w->worker[i]);
}

static void test_nothing_is_taken_twice(void **state)
{
	static const struct {
		size_t bytes, align;
	} wish[] = { { 24, 8 }, { 1, 1 }, { 64, 64 }, { 40, 16 } };
	struct world *w = *state;
	unsigned char seen[THREADS][EACH] = { 0 };

	for (unsigned n = 0; n < 50; n++)
		for (unsigned i = 0; i < THREADS; i++) {
			const size_t bytes = wish[n % 4].bytes, align = wish[n % 4].align;
			unsigned char *at = pool_take(w->pool, &w->worker[i], bytes, align);
			const size_t offset = (uintptr_t)at - w->pool->part[i].begin;

			assert_non_null(at);
			assert_int_equal((uintptr_t)at % align, 0);
			assert_true(offset + bytes <= pool_taken(w->pool, i));
			for (size_t b = 0; b < bytes; b++)
				assert_int_equal(seen[i][offset + b]++, 0);
		}
	for (unsigned i = 0; i < THREADS; i++)
		assert_null(w->worker[i].failed);
}

static void test_it_has_what_was_asked_for_and_then_says_so(void **state)
{
	struct world *w = *state;
	struct worker *self = &w->worker[1];

	assert_non_null(pool_take(w->pool, self, EACH, 1));
	assert_null(self->failed);
	while (pool_take(w->pool, self, 32, 32))
		;
	assert_non_null(strstr(self->failed, "the entries: worker 1 has "));
	assert_null(pool_take(w->pool, self, SIZE_MAX, 1));
	assert_non_null(strstr(self->failed, "wanted 32 more"));
	/* the others' parts are their own */
	assert_non_null(pool_take(w->pool, &w->worker[2], EACH, 1));
}

static void test_reset_gives_all_of_it_back(void **state)
{
	struct world *w = *state;
	void *first = pool_take(w->pool, &w->worker[0], 100, 8);

	pool_reset(w->pool);
	assert_int_equal(pool_taken(w->pool, 0), 0);
	assert_ptr_equal(pool_take(w->pool, &w->worker[0], 100, 8), first);
}

static void test_its_pages_are_claimed_by_worker_and_there_before_work(void **state)
{
	struct world *w = *state;
	struct placement p;

	touch_all(w);
	assert_int_equal(arena_placement(w->trial.arena, &p), 0);
	assert_int_equal(p.pages * p.page, pool_bytes(&w->trial, EACH, PAGES_BASE));
	assert_int_equal(p.unmapped, 0);
	assert_int_equal(p.misplaced, 0);
	if (p.how == PLACEMENT_VERIFIED)
		assert_int_equal(p.used, p.pages);
	placement_free(&p);
}

static void test_parts_are_whole_pages(void **state)
{
	struct world *w = *state;
	const size_t huge = w->machine->huge_page ? w->machine->huge_page : 1;

	assert_int_equal(pool_bytes(&w->trial, 1, PAGES_BASE), THREADS * w->machine->page);
	assert_int_equal(pool_bytes(&w->trial, 1, PAGES_THP) % huge, 0);
	assert_int_equal(pool_bytes(&w->trial, 1, PAGES_2M), THREADS * ((size_t)2 << 20));
	assert_int_equal(pool_bytes(&w->trial, 1, PAGES_1G), THREADS * ((size_t)1 << 30));
}

static void test_without_memory_there_is_none(void **state)
{
	struct world *w = *state;

	assert_null(pool_open(&w->trial, "too many entries", SIZE_MAX / THREADS / 2, PAGES_BASE));
	assert_int_equal(errno, ENOMEM);
}

#define IN_WORLD(TEST) cmocka_unit_test_setup_teardown(TEST, open_world, close_world)

int main(void)
{
	const struct CMUnitTest tests[] = {
		IN_WORLD(test_nothing_is_taken_twice),
		IN_WORLD(test_it_has_what_was_asked_for_and_then_says_so),
		IN_WORLD(test_reset_gives_all_of_it_back),
		IN_WORLD(test_its_pages_are_claimed_by_worker_and_there_before_work),
		IN_WORLD(test_parts_are_whole_pages),
		IN_WORLD(test_without_memory_there_is_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
