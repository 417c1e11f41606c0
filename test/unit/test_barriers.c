/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Barriers: none lets a thread go before all have arrived, even with more threads than CPUs.
 * ThreadSanitizer shows that writes before a barrier are visible after it, since threads write and
 * read plain variables.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <omp.h>
#include <cmocka.h>

#include "bench/barriers/kinds.h"
#include "bounded.h"
#include "code.h"

enum { MOST = 9, ROUNDS = 20 };

struct meeting {
	struct barrier barrier;
	const struct kind *kind;
	unsigned wrong;
	struct visitor visitor[MOST];
	struct {
		_Alignas(APART) uint64_t written;
	} own[MOST];
};

static struct meeting *meet(const struct kind *kind, unsigned threads)
{
	struct meeting *m = apart_alloc(sizeof(*m));

	assert_non_null(m);
	m->kind = kind;
	m->barrier.threads = threads;
	m->barrier.page = sizeof(struct post);
	m->barrier.posts = apart_alloc(threads * sizeof(struct post));
	assert_non_null(m->barrier.posts);
	assert_int_equal(pthread_barrier_init(&m->barrier.library, NULL, threads), 0);
	for (unsigned i = 0; i < threads; i++)
		m->visitor[i].index = i;
	return m;
}

static void part(struct meeting *m)
{
	pthread_barrier_destroy(&m->barrier.library);
	free(m->barrier.posts);
	free(m);
}

/*
 * What others wrote before the barrier is visible after it. After a second barrier they write
 * again.
 */
static void visit(struct meeting *m, unsigned me)
{
	for (uint64_t round = 1; round <= ROUNDS; round++) {
		m->own[me].written = round;
		m->kind->pass(&m->barrier, &m->visitor[me], 1);
		for (unsigned i = 0; i < m->barrier.threads; i++)
			if (m->own[i].written != round)
				m->wrong++; /* by any thread: 0 unless a barrier is broken */
		m->kind->pass(&m->barrier, &m->visitor[me], 1);
	}
	m->kind->check(&m->barrier, &m->visitor[me], m->visitor, ROUNDS);
}

static void test_none_goes_before_all_have_come(const struct kind *kind)
{
	static const unsigned some[] = { 2, 3, 6, MOST };

	for (unsigned k = 0; k < sizeof(some) / sizeof(some[0]); k++) {
		const unsigned threads = some[k];
		struct meeting *m = meet(kind, threads);

#pragma omp parallel num_threads(threads) default(none) shared(m)
		visit(m, (unsigned)omp_get_thread_num());
		assert_int_equal(m->wrong, 0);
		for (unsigned i = 0; i < threads; i++) {
			assert_false(m->visitor[i].early);
			assert_int_equal(m->visitor[i].passed, 3 * ROUNDS);
		}
		part(m);
	}
}

#define TEST_OF(KIND)                                              \
	static void test_##KIND(void **state)                      \
	{                                                          \
		(void)state;                                       \
		test_none_goes_before_all_have_come(&kind_##KIND); \
	}
TEST_OF(central)
TEST_OF(tree)
TEST_OF(dissemination)
TEST_OF(library)
TEST_OF(openmp)

/* A barrier that lets go too early: the counter says that the other thread has come. */
static void test_the_check_sees_who_left_early(void **state)
{
	struct meeting *m = meet(&kind_central, 2);

	(void)state;
	((struct post *)m->barrier.posts)->arrivals = 1;
	kind_central.check(&m->barrier, &m->visitor[0], m->visitor, 1);
	assert_true(m->visitor[0].early);
	part(m);
}

/* Leaving is noted after every 64th barrier, or more seldom if the notes would not have room. */
static void test_leaving_is_noted_as_often_as_there_is_room(void **state)
{
	static const struct {
		uint64_t barriers;
		unsigned kept;
	} rows[] = { { 0, 0 },
		     { 1, 1 },
		     { KINDS_EVERY, 1 },
		     { KINDS_EVERY + 1, 2 },
		     { KINDS_EVERY * KINDS_KEPT, KINDS_KEPT },
		     { 2 * KINDS_EVERY * KINDS_KEPT, KINDS_KEPT },
		     { 2 * KINDS_EVERY * KINDS_KEPT + 1, KINDS_KEPT } };
	struct meeting *m = meet(&kind_central, 1);

	(void)state;
	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		kind_central.pass(&m->barrier, &m->visitor[0], rows[i].barriers);
		assert_int_equal(m->visitor[0].kept, rows[i].kept);
		for (unsigned k = 1; k < rows[i].kept; k++)
			assert_true(m->visitor[0].left[k] >= m->visitor[0].left[k - 1]);
	}
	part(m);
}

/*
 * Waiting threads look, pause and yield; only `central` counts, by one atomic addition. All note
 * when they leave.
 */
#define NO_LOCK "[^l].*|l[^o].*"
static const struct shape shapes[] = {
#if defined(__x86_64__)
#define WAITS "pause", CALL("sched_yield"), STORED, "rdtsc"
	{ "pass_central", ALL, ".*", { "lock xadd " R "," AT, WAITS } },
	{ "pass_tree", ALL, NO_LOCK, { WAITS } },
	{ "pass_dissemination", ALL, NO_LOCK, { WAITS } },
#elif defined(__aarch64__)
#define WAITS "yield", CALL("sched_yield"), STORED, "mrs .*"
	{ "pass_tree", ALL, ".*", { WAITS } },
	{ "pass_dissemination", ALL, ".*", { WAITS } },
#endif
	{ NULL, ALL, NULL, { NULL } }
};

static void test_loops_are_what_was_meant(void **state)
{
	(void)state;
	have_the_shapes_that_were_meant(shapes, sizeof(shapes) / sizeof(*shapes));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_central),
		cmocka_unit_test(test_tree),
		cmocka_unit_test(test_dissemination),
		cmocka_unit_test(test_library),
		cmocka_unit_test(test_openmp),
		cmocka_unit_test(test_the_check_sees_who_left_early),
		cmocka_unit_test(test_leaving_is_noted_as_often_as_there_is_room),
		cmocka_unit_test(test_loops_are_what_was_meant),
	};

	return cmocka_run_group_tests(tests, begin_bounded, end_bounded);
}
