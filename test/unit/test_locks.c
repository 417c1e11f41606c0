/* SPDX-License-Identifier: Apache-2.0 */
/*
 * locks: mutual exclusion for every kind of lock; what is counted and timed; where locks lie;
 * machine code. ThreadSanitizer shows that a section's writes are visible to the next one, since
 * they use plain variables.
 */
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "bench/locks/kinds.h"
#include "bounded.h"
#include "code.h"
#include "hall.h"

/* ---- sections are alone ---- */

/*
 * At each turn, threads in a queue may wait for one without a CPU: so few turns, with more threads
 * than CPUs.
 */
enum { TURNS = 2000, TURNS_OF_MANY = 20 };

static void crowd(const char *variant, unsigned threads, unsigned layout, unsigned reads,
		  uint64_t lines)
{
	const uint64_t turns = threads > 2 ? TURNS_OF_MANY : TURNS;
	uint64_t writes = 0;
	struct hall h;

	plan(&h, variant, threads, NULL);
	h.value[LAYOUT].choice = layout;
	h.value[READS].count = reads;
	h.value[LINES].count = lines;
	h.value[SECTION].count = h.value[PAUSE].count = 3;
	if (((const struct kind *)h.trial.variant->data)->spread && layout >= LAYOUT_DENSE) {
		assert_non_null(locks_benchmark.needs(&h.trial).pointless);
		end(&h);
		return;
	}
	begin(&h);
	visit_all(&h, turns);
	visit_all(&h, turns);
	assert_null(wrong(&h));
	for (unsigned i = 0; i < threads; i++)
		writes += 2 * turns - (i * 37 % 100 + reads * 2 * turns) / 100;
	if (layout < LAYOUT_DENSE)
		assert_int_equal(locks_visitor(h.state, 0)->guarded->count, writes);
	end(&h);
}

static void test_sections_are_alone(void **state)
{
	static const unsigned threads[] = { 1, 2, 5 };

	for (unsigned i = 0; i < LENGTH(threads); i++) {
		crowd(*state, threads[i], LAYOUT_APART, 0, 1);
		crowd(*state, threads[i], LAYOUT_TOGETHER, 50, 3);
		crowd(*state, threads[i], LAYOUT_APART, 90, 2);
		crowd(*state, threads[i], LAYOUT_APART, 100, 2);
		crowd(*state, threads[i], LAYOUT_DENSE, 0, 1);
		crowd(*state, threads[i], LAYOUT_DENSE, 50, 2);
		crowd(*state, threads[i], LAYOUT_PADDED, 10, 1);
	}
	crowd(*state, MOST, LAYOUT_APART, 50, 2);
}

/* A waiting thread must leave the CPU to the holder. */
static void test_all_end_on_one_cpu(void **state)
{
	cpu_set_t all, one;

	assert_int_equal(sched_getaffinity(0, sizeof(all), &all), 0);
	CPU_ZERO(&one);
	for (size_t cpu = 0; !CPU_COUNT(&one); cpu++)
		if (CPU_ISSET(cpu, &all))
			CPU_SET(cpu, &one);
#pragma omp parallel num_threads(3) default(none) shared(one)
	sched_setaffinity(0, sizeof(one), &one);
	crowd(*state, 3, LAYOUT_APART, 0, 1);
	crowd(*state, 3, LAYOUT_APART, 50, 1);
#pragma omp parallel num_threads(3) default(none) shared(all)
	sched_setaffinity(0, sizeof(all), &all);
}

static void test_a_lost_section_is_seen(void **state)
{
	struct hall h;
	struct visitor *v;

	(void)state;
	for (unsigned layout = LAYOUT_APART; layout <= LAYOUT_PADDED; layout++) {
		plan(&h, "spin", 2, NULL);
		h.value[LINES].count = 2;
		h.value[LAYOUT].choice = layout;
		begin(&h);
		visit(&h, 0, 5);
		visit(&h, 1, 7);
		v = locks_visitor(h.state, 1);
		assert_null(wrong(&h));
		v->guarded->count--;
		assert_non_null(wrong(&h));
		v->guarded->count++;
		++*line_of(v, 1);
		assert_non_null(wrong(&h));
		--*line_of(v, 1);
		assert_null(wrong(&h));
		v->torn++;
		assert_non_null(wrong(&h));
		end(&h);
	}
}

/* A reading section sees a writing one half done: its two words differ, or its lines. */
static void test_a_torn_section_is_seen(void **state)
{
	struct hall h;
	struct visitor *v;

	(void)state;
	plan(&h, "rwlock", 1, NULL);
	h.value[LINES].count = 2;
	h.value[READS].count = 100;
	begin(&h);
	v = locks_visitor(h.state, 0);
	visit(&h, 0, 10);
	assert_int_equal(v->torn, 0);
	v->guarded->count = 1;
	visit(&h, 0, 1);
	assert_int_equal(v->torn, 2);
	v->guarded->stamp = UINT64_C(1) << KINDS_WORKER_BITS;
	visit(&h, 0, 1);
	assert_int_equal(v->torn, 3);
	*line_of(v, 1) = 1;
	visit(&h, 0, 1);
	assert_int_equal(v->torn, 3);
	end(&h);
}

/* A section's work cannot begin before the guarded data has arrived. */
static void test_work_needs_what_the_lock_guards(void **state)
{
	(void)state;
	for (unsigned reads = 0; reads <= 100; reads += 100) {
		struct visitor *v;
		uint64_t before;
		struct hall h;

		plan(&h, "rwlock", 1, NULL);
		h.value[READS].count = reads;
		h.value[SECTION].count = 3;
		begin(&h);
		v = locks_visitor(h.state, 0);
		v->value = 1;
		visit(&h, 0, 1);
		before = v->value;
		v->value = 1;
		v->guarded->count += 5;
		visit(&h, 0, 1);
		assert_int_not_equal(v->value, before);
		end(&h);
	}
}

/* ---- what is counted and timed ---- */

static void test_longer_sections_are_timed_more_often(void **state)
{
	(void)state;
	assert_int_equal(kinds_every(0), 1024);
	assert_int_equal(kinds_every(31), 1024);
	assert_int_equal(kinds_every(32), 512);
	assert_int_equal(kinds_every(100), 256);
	assert_int_equal(kinds_every(1000), 32);
	assert_int_equal(kinds_every(10000), 4);
	assert_int_equal(kinds_every(UINT64_MAX), 4);
}

static void test_one_acquisition_in_so_many_is_timed(void **state)
{
	struct hall h;
	struct visitor *v;

	(void)state;
	plan(&h, "ticket", 2, NULL);
	begin(&h);
	v = locks_visitor(h.state, 0);
	visit(&h, 0, 3 * KINDS_MOST_EVERY + 1);
	assert_int_equal(v->waits, 4); /* the very first wait is timed, too */
	assert_int_equal(handed(&h, 0, DISTANCE_SELF), 3 * KINDS_MOST_EVERY + 1);
	assert_int_equal(v->handovers, 0); /* to itself */
	/* only KINDS_KEPT of them are remembered */
	visit(&h, 0, KINDS_MOST_EVERY * (KINDS_KEPT + 10));
	assert_int_equal(v->waits, KINDS_KEPT + 10);
	assert_null(wrong(&h));
	end(&h);
}

/* The clock is read by the holder whose leaving completes so many sections, and by the next. */
static void test_handovers_are_timed(void **state)
{
	static const int cpus[] = { 0, 8 };
	struct hall h;
	struct visitor *a, *b;

	(void)state;
	plan(&h, "mcs", 2, cpus);
	begin(&h);
	a = locks_visitor(h.state, 0);
	b = locks_visitor(h.state, 1);
	visit(&h, 0, KINDS_MOST_EVERY - 1);
	visit(&h, 1, 1);
	assert_int_equal(b->handovers, 0);
	visit(&h, 0, 1);
	assert_int_equal(a->handovers, 1);
	assert_int_equal(a->across[0], DISTANCE_FAR);
	assert_int_equal(handed(&h, 0, DISTANCE_FAR), 1);
	visit(&h, 0, KINDS_MOST_EVERY - 1);
	/* the time between two samples is not a hand-over */
	locks_benchmark.ops.reset(h.state);
	visit(&h, 1, 1);
	assert_int_equal(b->handovers, 0);
	assert_int_equal(handed(&h, 1, DISTANCE_FAR), 1);
	assert_null(wrong(&h));
	end(&h);
}

static void test_distances_are_those_of_the_machine(void **state)
{
	static const int cpus[] = { 0, 0, 1, 2, 4, 8 };
	static const enum distance expected[] = { DISTANCE_SELF,  DISTANCE_CORE, DISTANCE_CORE,
						  DISTANCE_CACHE, DISTANCE_NODE, DISTANCE_FAR };
	struct hall h;

	(void)state;
	plan(&h, "cohort", LENGTH(cpus), cpus);
	begin(&h);
	for (unsigned i = 0; i < LENGTH(cpus); i++) {
		assert_int_equal(locks_visitor(h.state, 0)->distance[i], expected[i]);
		assert_int_equal(locks_visitor(h.state, i)->distance[0], expected[i]);
		assert_ptr_equal(locks_visitor(h.state, i)->cohort,
				 &post_of(locks_visitor(h.state, 0), i < 5 ? 0 : 5)->cohort);
	}
	end(&h);
}

/* Counting begins when all threads are at work. */
static void test_counts_begin_when_all_are_at_work(void **state)
{
	struct hall h;

	(void)state;
	plan(&h, "spin", 2, NULL);
	h.trial.oversubscribed = false;
	begin(&h);
	visit(&h, 0, 50); /* the other thread has not come */
	assert_int_equal(h.worker[0].together, 0);
	visit(&h, 1, 30);
	assert_int_equal(h.worker[1].together, 30);
	assert_int_equal(handed(&h, 1, DISTANCE_CACHE) + handed(&h, 1, DISTANCE_CORE) +
				 handed(&h, 1, DISTANCE_SELF),
			 30);
	locks_benchmark.ops.reset(h.state);
	visit(&h, 1, 10);
	visit(&h, 0, 20);
	/* earlier sections are not forgotten */
	assert_int_equal(locks_visitor(h.state, 0)->wrote, 50);
	assert_null(wrong(&h));
	end(&h);
}

/* ---- where locks lie ---- */

static struct geometry lie(const char *variant, unsigned layout, uint64_t lines)
{
	struct geometry g;
	struct hall h;

	plan(&h, variant, 4, NULL);
	h.value[LAYOUT].choice = layout;
	h.value[LINES].count = lines;
	g = locks_geometry(&h.trial);
	assert_int_equal(g.apart, machine_apart(h.trial.machine));
	assert_true(g.all >= (g.locks - 1) * g.stride + g.guarded + sizeof(struct guarded));
	assert_int_equal(g.left, g.all + g.locks * (lines - 1) * g.apart);
	assert_int_equal(g.bytes, g.left + g.locks * g.apart);
	end(&h);
	return g;
}

static void test_locks_lie_as_the_layout_says(void **state)
{
	struct geometry g;

	(void)state;
	g = lie("spin", LAYOUT_TOGETHER, 1);
	assert_true(g.locks == 1 && g.guarded == sizeof(uint64_t));
	g = lie("spin", LAYOUT_APART, 3);
	assert_true(g.locks == 1 && g.guarded == g.apart && g.all == 2 * g.apart);
	g = lie("mcs", LAYOUT_DENSE, 1);
	assert_true(g.locks == 4 && g.stride == 24 && g.guarded == 8);
	g = lie("mutex", LAYOUT_DENSE, 1);
	assert_int_equal(g.stride, sizeof(pthread_mutex_t) + 16);
	g = lie("mutex", LAYOUT_PADDED, 2);
	assert_true(g.locks == 4 && g.stride == g.apart);
	assert_true(g.guarded + sizeof(struct guarded) <= g.apart);
}

/* ---- machine code ---- */

#define ANY ".*"
#define WORK(MULTIPLIED)                                                              \
	{ "visit_mutex", LOOP, ARITHMETIC, { MULTIPLIED } },                          \
		{ "visit_spin", LOOP, ARITHMETIC, { MULTIPLIED } },                   \
		{ "visit_ticket", LOOP, ARITHMETIC, { MULTIPLIED } },                 \
		{ "visit_mcs", LOOP, ARITHMETIC, { MULTIPLIED } },                    \
		{ "visit_clh", LOOP, ARITHMETIC, { MULTIPLIED } },                    \
		{ "visit_cohort", LOOP, ARITHMETIC, { MULTIPLIED } },                 \
		{ "visit_rwlock", LOOP, ARITHMETIC, { MULTIPLIED } },                 \
		{ "visit_flags", LOOP, ARITHMETIC, { MULTIPLIED } },                  \
		{ "visit_mutex",                                                      \
		  ALL,                                                                \
		  ANY,                                                                \
		  { CALL("pthread_mutex_lock"), CALL("pthread_mutex_unlock") } },     \
	{                                                                             \
		"visit_rwlock", ALL, ANY,                                             \
		{                                                                     \
			CALL("pthread_rwlock_wrlock"), CALL("pthread_rwlock_rdlock"), \
				CALL("pthread_rwlock_unlock")                         \
		}                                                                     \
	}
static const struct shape shapes[] = {
#if defined(__x86_64__)
#define WAITS CALL("sched_yield"), "pause"
	WORK("imul " R "," R),
	{ "visit_spin", ALL, ANY, { "xchg " R "," AT, "movl \\$0x0," AT, WAITS } },
	{ "visit_ticket", ALL, ANY, { "lock xadd " R "," AT, WAITS } },
	{ "visit_mcs", ALL, ANY, { "xchg " R "," AT, "lock cmpxchg " R "," AT, WAITS } },
	{ "visit_clh", ALL, ANY, { "xchg " R "," AT, "movb \\$0x0," AT, WAITS } },
	{ "visit_cohort", ALL, ANY, { "lock xadd " R "," AT, WAITS } },
	{ "visit_flags", ALL, ANY, { "lock xadd " R "," AT, "xchg " R "," AT, WAITS } },
#elif defined(__aarch64__)
	WORK("mul " R ", " R ", " R),
#endif
	{ NULL, ALL, NULL, { NULL } }
};

static void test_loops_are_what_was_meant(void **state)
{
	(void)state;
	have_the_shapes_that_were_meant(shapes, LENGTH(shapes));
}

/* ---- */

#define OF_KIND(TEST, KIND)                                                                \
	{                                                                                  \
		.name = #TEST "_" #KIND, .test_func = (TEST), .setup_func = begin_bounded, \
		.teardown_func = end_bounded, .initial_state = (void *)#KIND,              \
	}
#define OF_EACH(TEST)                                                                         \
	OF_KIND(TEST, mutex), OF_KIND(TEST, spin), OF_KIND(TEST, ticket), OF_KIND(TEST, mcs), \
		OF_KIND(TEST, clh), OF_KIND(TEST, cohort), OF_KIND(TEST, rwlock),             \
		OF_KIND(TEST, flags)

int main(void)
{
	const struct CMUnitTest tests[] = {
		OF_EACH(test_sections_are_alone),
		OF_EACH(test_all_end_on_one_cpu),
		cmocka_unit_test(test_a_lost_section_is_seen),
		cmocka_unit_test(test_a_torn_section_is_seen),
		cmocka_unit_test(test_work_needs_what_the_lock_guards),
		cmocka_unit_test(test_longer_sections_are_timed_more_often),
		cmocka_unit_test(test_one_acquisition_in_so_many_is_timed),
		cmocka_unit_test(test_handovers_are_timed),
		cmocka_unit_test(test_distances_are_those_of_the_machine),
		cmocka_unit_test(test_counts_begin_when_all_are_at_work),
		cmocka_unit_test(test_locks_lie_as_the_layout_says),
		cmocka_unit_test(test_loops_are_what_was_meant),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
