/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The team: every order reaches every seated worker once, for any number of workers, and no other
 * worker; the barrier starts all together.
 */
#include <errno.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "machine/clock.h"
#include "machine/threads/affinity.h"
#include "machine/threads/team.h"

enum { MOST = 8, ORDERS = 500 };

struct counts {
	struct {
		_Alignas(APART) uint64_t n;
	} of[MOST];
};

static void count(void *argument, struct worker *w)
{
	((struct counts *)argument)->of[w->index].n++;
}

static void seat(struct team *t, unsigned threads, int cpu)
{
	struct place place[MOST];
	unsigned culprit;

	for (unsigned i = 0; i < threads; i++)
		place[i] = (struct place){ cpu, 0 };
	assert_int_equal(team_seat(t, place, threads, &culprit), 0);
}

/* All threads share one CPU: unless waiting threads yield and sleep, this would take minutes. */
static int orders(struct team *t, void *argument)
{
	int cpu = *(int *)argument;

	for (unsigned threads = 1; threads <= MOST; threads *= 2) {
		struct counts c = { 0 };

		seat(t, threads, cpu);
		for (unsigned i = 0; i < ORDERS / threads; i++)
			team_run(t, count, &c);
		for (unsigned i = 0; i < MOST; i++)
			assert_int_equal(c.of[i].n, i < threads ? ORDERS / threads : 0);
	}
	return 7;
}

static void test_every_order_reaches_every_seated_worker(void **state)
{
	int cpu = sched_getcpu();

	(void)state;
	assert_int_equal(team_open(MOST, orders, &cpu), 7);
}

static void until_stopped(void *argument, struct worker *w)
{
	(void)argument;
	while (!atomic_load_explicit(w->stop, memory_order_relaxed)) {
		w->done++;
		sched_yield();
	}
}

static void first_is_quick(void *argument, struct worker *w)
{
	if (w->index)
		until_stopped(argument, w);
}

static int timed(struct team *t, void *argument)
{
	struct counts c = { 0 };
	double begin;

	seat(t, 4, *(int *)argument);
	team_time(t, count, &c, 0, 0, 0);
	for (unsigned i = 0; i < 4; i++) {
		const struct attendance *a = team_attendance(t, i);

		assert_int_equal(c.of[i].n, 1);
		assert_true(a->begin <= a->end);
		assert_true(a->before.wall <= a->begin && a->end <= a->after.wall);
	}
	begin = clock_now();
	team_time(t, until_stopped, NULL, 0.02, 0, 0);
	assert_true(clock_now() - begin >= 0.019);
	for (unsigned i = 0; i < 4; i++)
		/* from the common start: as they share a CPU, some begin late */
		assert_true(team_attendance(t, i)->end - begin >= 0.019);
	/* only worker 0 is watched: its end stops the others */
	team_time(t, first_is_quick, NULL, 0, 1, 1);
	assert_false(atomic_load(team_worker(t, 0)->stop) == false);
	return 0;
}

static void test_timed_orders_and_their_two_ends(void **state)
{
	int cpu = sched_getcpu();

	(void)state;
	assert_int_equal(team_open(4, timed, &cpu), 0);
}

/* When the last worker began its task. */
struct started {
	_Atomic bool begun;
	double at;
};

static void begin_last(void *argument, struct worker *w)
{
	struct started *s = argument;

	if (w->index != 3)
		return;
	s->at = clock_now();
	atomic_store(&s->begun, true);
}

static void wait_for_last(void *argument, struct worker *w)
{
	struct started *s = argument;

	while (w->index == 0 && !atomic_load(&s->begun))
		sched_yield();
}

/* A worker's time begins when it is ready, and others are at work by then. */
static int ready(struct team *t, void *argument)
{
	struct started s = { .begun = false };

	seat(t, 4, *(int *)argument);
	team_ready(t, wait_for_last);
	team_time(t, begin_last, &s, 0, 0, 0);
	assert_true(team_attendance(t, 0)->begin >= s.at);
	assert_true(team_attendance(t, 3)->begin <= s.at);
	team_ready(t, NULL);
	atomic_store(&s.begun, false);
	team_time(t, count, &(struct counts){ 0 }, 0, 0, 0); /* nobody waits any more */
	return 0;
}

static void test_time_begins_when_a_worker_is_ready(void **state)
{
	int cpu = sched_getcpu();

	(void)state;
	assert_int_equal(team_open(4, ready, &cpu), 0);
}

static int badly_seated(struct team *t, void *argument)
{
	struct place nowhere[2] = { { *(int *)argument, 0 }, { CPU_SETSIZE - 1, 0 } };
	unsigned culprit = 99;

	assert_int_equal(team_seat(t, nowhere, 2, &culprit), -1);
	assert_int_equal(culprit, 1);
	assert_int_equal(errno, EINVAL);
	assert_int_equal(team_seat(t, nowhere, 3, &culprit), -1);
	assert_int_equal(errno, EAGAIN);
	return 0;
}

static void test_a_cpu_that_is_not_there(void **state)
{
	int cpu = sched_getcpu();

	(void)state;
	assert_int_equal(team_open(2, badly_seated, &cpu), 0);
}

static void note_cpus(void *argument, struct worker *w)
{
	((hwloc_bitmap_t *)argument)[w->index] = cpuset_get();
}

static void look(struct team *t, hwloc_const_bitmap_t expected)
{
	hwloc_bitmap_t found[2];

	team_run(t, note_cpus, found);
	for (unsigned i = 0; i < 2; i++) {
		assert_true(hwloc_bitmap_isequal(found[i], expected));
		hwloc_bitmap_free(found[i]);
	}
}

/* Workers free to move, then pinned, then free again. */
static int floating(struct team *t, void *argument)
{
	const int cpu = *(int *)argument;
	const struct place place[2] = { { cpu, 0 }, { cpu, 0 } };
	hwloc_bitmap_t all = cpuset_get(), one = hwloc_bitmap_alloc(), none = hwloc_bitmap_alloc();
	unsigned culprit = 99;

	hwloc_bitmap_only(one, (unsigned)cpu);
	for (unsigned turn = 0; turn < 2; turn++) {
		assert_int_equal(team_float(t, place, 2, all, &culprit), 0);
		assert_int_equal(team_worker(t, 1)->place.cpu, cpu);
		look(t, all);
		assert_int_equal(team_seat(t, place, 2, &culprit), 0);
		look(t, one);
	}
	assert_int_equal(team_float(t, place, 2, none, &culprit), -1);
	assert_int_equal(errno, EINVAL);
	assert_int_equal(team_float(t, place, 2, all, &culprit), 0);
	hwloc_bitmap_free(all);
	hwloc_bitmap_free(one);
	hwloc_bitmap_free(none);
	return 0;
}

static void test_workers_may_be_free_to_move(void **state)
{
	int cpu = sched_getcpu();

	(void)state;
	assert_int_equal(team_open(2, floating, &cpu), 0);
}

static void test_the_cycle_is_plausible(void **state)
{
	double cycle = clock_cycle(16384);

	(void)state;
	/* 10 MHz (an emulator) to 10 GHz */
	assert_true(cycle == 0 || (cycle > 1e-10 && cycle < 1e-7));
	assert_true(clock_measure().overhead > 0 && clock_measure().resolution > 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_order_reaches_every_seated_worker),
		cmocka_unit_test(test_timed_orders_and_their_two_ends),
		cmocka_unit_test(test_time_begins_when_a_worker_is_ready),
		cmocka_unit_test(test_a_cpu_that_is_not_there),
		cmocka_unit_test(test_workers_may_be_free_to_move),
		cmocka_unit_test(test_the_cycle_is_plausible),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
