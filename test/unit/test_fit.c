/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether trials fit a machine: places of threads, kinds of cores, and memory; which are
 * impossible, and why.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "benchmarks.h"
#include "changed.h"
#include "planned.h"

/* On a machine whose slow cores come first. `note`: NULL if there is none. */
static void expect_kinds(const char *bind, const char *threads, bool allowed, int cpu,
			 const char *kinds, const char *note)
{
	struct fixture f;
	const struct planned *p;

	begin(&f, "core:1 pu:1", QUICK);
	machine_close(f.machine);
	f.machine = open_changed("core:8 pu:1", slow_first);
	f.setting.machine = f.machine;
	f.options.benchmark = &with_ratios;
	f.options.bind = bind;
	f.options.threads = threads;
	assert_int_equal(plan_make(&f.plan, &with_ratios, &f.options, &f.setting), 0);
	p = &f.plan.trial[0];
	assert_true(allowed == !p->refusal);
	if (allowed) {
		assert_int_equal(p->trial.place[0].cpu, cpu);
		assert_string_equal(p->kinds, kinds);
		assert_int_equal(json_array_size(p->notes), note != NULL);
	}
	if (note)
		assert_string_equal(json_string_value(json_array_get(p->notes, 0)), note);
	end(&f);
}

static void test_slow_cores_are_noted(void **state)
{
	(void)state;
	expect_kinds(NULL, "1", true, 4, "1 IntelCore 3900 MHz", NULL);
	expect_kinds("spread", "4", true, 4, "4 IntelCore 3900 MHz", NULL);
	expect_kinds(NULL, "5", true, 4, "4 IntelCore 3900 MHz + 1 IntelAtom 2800 MHz",
		     "its threads are on cores of these kinds: 4 IntelCore 3900 MHz + 1 IntelAtom "
		     "2800 MHz");
	expect_kinds("2", "1", true, 2, "1 IntelAtom 2800 MHz",
		     "its threads are on cores of these kinds: 1 IntelAtom 2800 MHz");
	expect_kinds("float", "1", true, 4, "4 IntelCore 3900 MHz + 4 IntelAtom 2800 MHz",
		     "its threads float over cores of these kinds: 4 IntelCore 3900 MHz + 4 "
		     "IntelAtom 2800 MHz");
	expect_kinds(NULL, "9", false, 0, NULL, NULL);
}

static void test_machines_of_one_kind_have_none(void **state)
{
	struct fixture f;

	(void)state;
	begin(&f, "core:2 pu:1", QUICK);
	make(&f);
	assert_null(f.plan.trial[0].kinds);
	assert_int_equal(json_array_size(f.plan.trial[0].notes), 0);
	end(&f);
}

static void test_more_threads_than_a_node_has(void **state)
{
	struct fixture f;

	(void)state;
	begin(&f, "node:2 core:4 pu:1", QUICK);
	f.options.threads = "8";
	f.options.variant = "one";
	make(&f);
	assert_int_equal(f.plan.trials, 4); /* 8+0 does not fit, 4+4 does */
	for (unsigned i = 0; i < f.plan.trials; i++)
		assert_int_equal(f.plan.trial[i].refusal != NULL,
				 strstr(f.plan.trial[i].identity, "layout=8+0") != NULL);
	end(&f);
	begin(&f, "node:2 core:4 pu:1", QUICK);
	f.options.threads = "8";
	f.options.variant = "one";
	f.options.oversubscribe = true;
	make(&f);
	for (unsigned i = 0; i < f.plan.trials; i++)
		assert_null(f.plan.trial[i].refusal);
	end(&f);
}

static void test_siblings_and_far_nodes_in_places(void **state)
{
	struct fixture f;

	(void)state;
	begin(&f, "node:2 core:2 pu:2", QUICK);
	f.options.variant = "one";
	f.options.parameter[WHERE] = "3+1";
	make(&f);
	assert_int_equal(f.plan.trials, 2);
	assert_int_equal(f.plan.trial[0].trial.place[0].cpu, 0);
	/* the second core comes before the sibling on the first */
	assert_int_equal(f.plan.trial[0].trial.place[1].cpu, 2);
	assert_int_equal(f.plan.trial[0].trial.place[2].cpu, 1);
	assert_int_equal(f.plan.trial[0].trial.place[3].cpu, 4);
	assert_int_equal(f.plan.trial[0].trial.place[3].node, 1);
	end(&f);
}

/* Threads bound from outside keep their CPUs; if two share one, the trial is oversubscribed. */
static void test_threads_bound_from_outside(void **state)
{
	int cpus[] = { 3, 1, 1 };
	const struct affinity outside = { .cpus = 2, .threads = 3, .cpu_of = cpus };
	struct fixture f;

	(void)state;
	begin(&f, "node:2 core:2 pu:1", QUICK);
	f.setting.affinity = &outside;
	f.options.threads = "2,3,4";
	f.options.parameter[SIZE_OF] = "1K";
	f.options.variant = "one";
	make_with_ratios(&f);
	assert_int_equal(f.plan.trials, 3);
	assert_string_equal(f.plan.trial[0].bind, "inherited");
	assert_int_equal(f.plan.trial[0].trial.place[0].cpu, 3);
	assert_int_equal(f.plan.trial[0].trial.place[0].node, 1);
	assert_int_equal(f.plan.trial[0].trial.place[1].cpu, 1);
	assert_int_equal(f.plan.trial[0].trial.place[1].node, 0);
	assert_null(f.plan.trial[0].refusal);
	assert_true(f.plan.trial[1].trial.oversubscribed);
	assert_non_null(strstr(f.plan.trial[1].refusal,
			       "3 threads were bound to 2 CPUs from outside; ask for fewer"));
	/* more threads than were bound from outside */
	assert_string_equal(f.plan.trial[2].bind, "close");
	assert_null(f.plan.trial[2].refusal);
	end(&f);
}

/* Ranks that share CPUs need --oversubscribe, and each of their trials is marked. */
static void test_ranks_on_the_same_cpus(void **state)
{
	char crowd[] = "two ranks share CPU 0";
	struct fixture f;

	(void)state;
	for (unsigned allowed = 0; allowed < 2; allowed++) {
		begin(&f, "node:1 core:4 pu:1", QUICK);
		f.setting.crowd = crowd;
		f.options.oversubscribe = allowed;
		make(&f);
		for (unsigned i = 0; i < f.plan.trials; i++) {
			const struct planned *p = &f.plan.trial[i];

			assert_true(p->trial.oversubscribed);
			if (allowed)
				assert_null(p->refusal);
			else
				assert_string_equal(p->refusal, crowd);
		}
		end(&f);
	}
}

/* "all" leaves out a node without memory; a node given by number is refused with the reason. */
static void test_nodes_without_memory(void **state)
{
	struct fixture f;

	(void)state;
	begin(&f, "node:2 core:4 pu:1", QUICK);
	f.machine->node[1].memory = 0;
	make(&f);
	assert_int_equal(with(&f.plan, " to=0 "), 2 * 2);
	assert_int_equal(with(&f.plan, " to=1 "), 0);
	plan_free(&f.plan);
	f.options.parameter[TO] = "1";
	f.options.variant = "matrix";
	make(&f);
	assert_int_equal(f.plan.trials, 2 * 2);
	for (unsigned i = 0; i < f.plan.trials; i++) {
		const char *refusal = f.plan.trial[i].refusal;

		assert_non_null(refusal);
		assert_non_null(strstr(
			refusal, "--to 1: its data can't lie on node 1, which has no memory;"));
	}
	end(&f);
}

static void test_beyond_memory_is_impossible(void **state)
{
	struct fixture f;

	(void)state;
	/* A trial that needs all memory does not fit: page tables and samples also need some. */
	for (uint64_t available = 1024ull << 15; available <= 1536ull << 15;
	     available += 512ull << 15) {
		begin(&f, "node:2 core:4 pu:1", QUICK);
		f.setting.memory.available = available;
		make(&f);
		for (unsigned i = 0; i < f.plan.trials; i++) {
			const struct planned *p = &f.plan.trial[i];

			assert_int_equal(p->refusal != NULL, p->needs.bytes >= available);
			if (p->refusal)
				assert_non_null(strstr(p->refusal, "nothing"));
		}
		end(&f);
	}
}

/* Kernels with 64 KiB pages have huge pages of 512 MiB: even a small buffer takes a whole one. */
static void test_huge_pages_are_taken_whole(void **state)
{
	const size_t huge = (size_t)512 << 20;
	const struct benchmark *one[] = { &latency_benchmark, &numa_benchmark };
	struct fixture f;

	(void)state;
	for (unsigned b = 0; b < 2; b++) {
		unsigned found = 0;

		begin(&f, "node:1(memory=64GB) core:2 pu:1", STANDARD);
		f.machine->huge_page = huge;
		f.options.benchmark = one[b];
		assert_int_equal(plan_make(&f.plan, one[b], &f.options, &f.setting), 0);
		for (unsigned i = 0; i < f.plan.trials; i++) {
			if (!strstr(f.plan.trial[i].identity, "pages=thp"))
				continue;
			assert_true(f.plan.trial[i].needs.bytes >= huge);
			assert_int_equal(f.plan.trial[i].needs.bytes % huge, 0);
			found++;
		}
		assert_true(found > 0);
		end(&f);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_slow_cores_are_noted),
		cmocka_unit_test(test_machines_of_one_kind_have_none),
		cmocka_unit_test(test_more_threads_than_a_node_has),
		cmocka_unit_test(test_siblings_and_far_nodes_in_places),
		cmocka_unit_test(test_threads_bound_from_outside),
		cmocka_unit_test(test_ranks_on_the_same_cpus),
		cmocka_unit_test(test_nodes_without_memory),
		cmocka_unit_test(test_beyond_memory_is_impossible),
		cmocka_unit_test(test_huge_pages_are_taken_whole),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
