/* SPDX-License-Identifier: Apache-2.0 */
/* The loop of work(): when it checks the flag, and which operations count. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "kit/loop.h"

/* What the operations observed, and what happens while they run. */
struct sight {
	struct start *start;
	_Atomic bool stop;
	uint64_t calls, done, last;
	uint64_t singles;  /* operations that came one by one, before all workers had begun */
	uint64_t begin_at; /* the other worker begins after so many; 0: never */
	uint64_t stop_at;  /* the flag is raised after so many; 0: never */
};

static void operate(void *argument, uint64_t n)
{
	struct sight *s = argument;

	s->calls += n > 0;
	s->last = n;
	s->done += n;
	if (s->begin_at && s->done <= s->begin_at) {
		assert_int_equal(n, 1);
		s->singles++;
	}
	if (s->begin_at && s->done == s->begin_at)
		s->start->begun++;
	if (s->stop_at && s->done >= s->stop_at)
		s->stop = true;
}

static struct worker run(struct sight *s, unsigned awaited, uint64_t count)
{
	struct start start = { .awaited = awaited, .begun = 7 };
	struct worker w = { .count = count, .stop = &s->stop };

	start_reset(&start);
	s->start = &start;
	loop(&start, &w, operate, s);
	assert_int_equal(w.done, s->done);
	assert_int_equal(start.begun, 1 + (s->begin_at > 0));
	return w;
}

static void test_a_count_is_done_exactly(void **state)
{
	static const uint64_t counts[] = { 0, 1, 2, 127, 128, 129, 100003 };

	(void)state;
	for (size_t i = 0; i < sizeof(counts) / sizeof(*counts); i++) {
		struct sight s = { 0 };
		struct worker w = run(&s, 1, counts[i]);

		assert_int_equal(s.done, counts[i]);
		assert_int_equal(w.together, counts[i]);
		assert_in_range(s.calls, counts[i] > 0, LOOP_LOOKS + 1);
	}
}

/* Work done after the flag is raised does not count, but all of it is done. */
static void test_a_count_is_done_also_where_another_is_done_first(void **state)
{
	struct sight s = { .stop_at = 50000 };
	struct worker w = run(&s, 1, 100000);

	(void)state;
	assert_int_equal(s.done, 100000);
	assert_in_range(w.together, 49000, 50000 + 100000 / LOOP_LOOKS);
}

static void test_it_ends_soon_after_the_deadline(void **state)
{
	struct sight s = { .stop_at = 1000000 };
	struct worker w = run(&s, 1, UINT64_MAX);

	(void)state;
	assert_in_range(s.done, 1000000, 1000000 + 1000000 / (LOOP_LOOKS - 1) + 1);
	assert_int_equal(w.together, s.done - s.last / 2);
	assert_in_range(s.calls, LOOP_LOOKS, 20 * LOOP_LOOKS);
}

static void test_what_comes_before_the_last_has_begun_does_not_count(void **state)
{
	struct sight s = { .begin_at = 300, .stop_at = 10000 };
	struct worker w = run(&s, 2, UINT64_MAX);

	(void)state;
	assert_int_equal(s.singles, 300);
	assert_int_equal(w.together, s.done - 300 - s.last / 2);
}

static void test_it_ends_where_the_others_never_begin(void **state)
{
	struct sight by_deadline = { .stop_at = 10 }, by_count = { 0 };

	(void)state;
	assert_int_equal(run(&by_deadline, 2, UINT64_MAX).together, 0);
	assert_int_equal(by_deadline.done, 10);
	assert_int_equal(run(&by_count, 2, 10).together, 0);
	assert_int_equal(by_count.done, 10);
}

static void test_more_workers_than_cpus_await_nobody(void **state)
{
	struct sight s = { 0 };

	(void)state;
	assert_int_equal(run(&s, 0, 1000).together, 1000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_count_is_done_exactly),
		cmocka_unit_test(test_a_count_is_done_also_where_another_is_done_first),
		cmocka_unit_test(test_it_ends_soon_after_the_deadline),
		cmocka_unit_test(test_what_comes_before_the_last_has_begun_does_not_count),
		cmocka_unit_test(test_it_ends_where_the_others_never_begin),
		cmocka_unit_test(test_more_workers_than_cpus_await_nobody),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
