/* SPDX-License-Identifier: Apache-2.0 */
/* Sets of CPUs of the kernel's size, beyond the 1024 of a cpu_set_t. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

#include "machine/threads/affinity.h"
#include "machine/threads/team.h"
#include "many_cpus.h"

static int begin(void **state)
{
	(void)state;
	many = true;
	kernel_cpus = KERNEL_CPUS;
	put_on = -1;
	return 0;
}

static int end(void **state)
{
	(void)state;
	many = false;
	return 0;
}

static void expect_many(hwloc_const_bitmap_t set)
{
	assert_int_equal(hwloc_bitmap_weight(set), 3);
	assert_true(hwloc_bitmap_isset(set, FIRST_OF_MANY) &&
		    hwloc_bitmap_isset(set, MIDDLE_OF_MANY));
	assert_int_equal(hwloc_bitmap_last(set), LAST_OF_MANY);
}

static void sets_are_as_large_as_the_kernels(void **state)
{
	hwloc_bitmap_t set = cpuset_get();

	(void)state;
	assert_non_null(set);
	expect_many(set);
	assert_int_equal(cpuset_room(), KERNEL_CPUS);
	assert_int_equal(cpuset_set(set), 0);
	assert_int_equal(put_on, LAST_OF_MANY);
	hwloc_bitmap_free(set);
}

static void one_cpu(void **state)
{
	hwloc_bitmap_t none = hwloc_bitmap_alloc();

	(void)state;
	assert_int_equal(cpuset_set_one(MIDDLE_OF_MANY), 0);
	assert_int_equal(put_on, MIDDLE_OF_MANY);
	assert_int_equal(cpuset_set_one(MIDDLE_OF_MANY + 1), -1);
	assert_int_equal(errno, EINVAL);
	assert_int_equal(cpuset_set(none), -1);
	assert_int_equal(errno, EINVAL);
	hwloc_bitmap_free(none);
}

static void expect_inherited(void)
{
	const char *why = NULL;
	struct affinity a;

	put_on = -1;
	assert_int_equal(affinity_inherit(&a, &why), 0);
	expect_many(a.allowed);
	assert_int_equal(a.cpus, 3);
	assert_int_equal(a.threads, 0);
	/* it may already use all of them */
	assert_int_equal(put_on, -1);
	affinity_free(&a);
}

static void what_was_inherited(void **state)
{
	(void)state;
	expect_inherited();
	setenv("LD_PRELOAD", "what may bind threads", 1);
	expect_inherited();
	unsetenv("LD_PRELOAD");
}

/* More CPUs than any set can hold: an error, and neither a loop nor a guess. */
static void a_kernel_beyond_all_bounds(void **state)
{
	const char *why = NULL;
	struct affinity a;

	(void)state;
	kernel_cpus = (size_t)1 << 30;
	assert_null(cpuset_get());
	assert_int_equal(errno, EINVAL);
	assert_int_equal(cpuset_room(), 1024);
	assert_int_equal(affinity_inherit(&a, &why), -1);
	assert_non_null(strstr(why, "sched_getaffinity: Invalid argument"));
	assert_null(a.allowed);
}

static int sit_far_out(struct team *team, void *argument)
{
	struct place place[2] = { { LAST_OF_MANY, 0 }, { MIDDLE_OF_MANY, 0 } };
	unsigned culprit = 9;

	(void)argument;
	assert_int_equal(team_seat(team, place, 2, &culprit), 0);
	assert_int_equal(team_worker(team, 1)->place.cpu, MIDDLE_OF_MANY);
	place[1].cpu = LAST_OF_MANY + 1;
	assert_int_equal(team_seat(team, place, 2, &culprit), -1);
	assert_int_equal(culprit, 1);
	return 0;
}

static void workers_are_pinned(void **state)
{
	(void)state;
	assert_int_equal(team_open(2, sit_far_out, NULL), 0);
}

/* This machine's sets, whatever their size: reading a set back gives the one that was set. */
static void here(void **state)
{
	hwloc_bitmap_t all = cpuset_get(), one;
	int first = hwloc_bitmap_first(all);

	(void)state;
	assert_int_equal(cpuset_set_one(first), 0);
	one = cpuset_get();
	assert_int_equal(cpuset_set(all), 0);
	assert_int_equal(hwloc_bitmap_weight(one), 1);
	assert_int_equal(hwloc_bitmap_first(one), first);
	assert_true(cpuset_room() >= 1024 && cpuset_room() > (unsigned)hwloc_bitmap_last(all));
	hwloc_bitmap_free(all);
	hwloc_bitmap_free(one);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(sets_are_as_large_as_the_kernels, begin, end),
		cmocka_unit_test_setup_teardown(one_cpu, begin, end),
		cmocka_unit_test_setup_teardown(what_was_inherited, begin, end),
		cmocka_unit_test_setup_teardown(a_kernel_beyond_all_bounds, begin, end),
		cmocka_unit_test_setup_teardown(workers_are_pinned, begin, end),
		cmocka_unit_test(here),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
