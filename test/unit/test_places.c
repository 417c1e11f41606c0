/* SPDX-License-Identifier: Apache-2.0 */
/* Places of threads by --bind, checked CPU by CPU. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "machines.h"

/*
 * Two cores with two threads and two with one: performance and efficiency cores, or CPUs taken off
 * line.
 */
static void mixed_cores(hwloc_topology_t t)
{
	keep(t, "0-4,6");
}

static void second_package_smaller(hwloc_topology_t t)
{
	keep(t, "0-3,6");
}

static void orders_in_numbers(void **unused)
{
	static const struct {
		const char *description;
		void (*change)(hwloc_topology_t);
		const char *bind;
		unsigned n;
		int cpu[16];
	} table[] = {
		{ "node:2 core:4 pu:1", NULL, "close", 8, { 0, 1, 2, 3, 4, 5, 6, 7 } },
		{ "node:2 core:2 pu:2", NULL, "float", 8, { 0, 2, 4, 6, 1, 3, 5, 7 } },
		{ "node:2 core:4 pu:1", NULL, "spread", 8, { 0, 4, 1, 5, 2, 6, 3, 7 } },
		{ "node:2 core:2 pu:2", NULL, "close", 8, { 0, 2, 4, 6, 1, 3, 5, 7 } },
		{ "node:2 core:2 pu:2", NULL, "spread", 8, { 0, 4, 2, 6, 1, 5, 3, 7 } },
		{ "pack:2 [numa] l3:2 core:2 pu:1", NULL, "spread", 8, { 0, 4, 2, 6, 1, 5, 3, 7 } },
		{ "pack:2 numa:2 core:2 pu:1", NULL, "spread", 8, { 0, 4, 2, 6, 1, 5, 3, 7 } },
		/* siblings numbered 0, 4, 1, 5, ..., as many systems do */
		{ "node:2 core:2 pu:2(indexes=0,4,1,5,2,6,3,7)",
		  NULL,
		  "close",
		  8,
		  { 0, 1, 2, 3, 4, 5, 6, 7 } },
		{ "node:2 core:2 pu:2(indexes=0,4,1,5,2,6,3,7)",
		  NULL,
		  "spread",
		  8,
		  { 0, 2, 1, 3, 4, 6, 5, 7 } },
		{ "node:1 core:4 pu:2", mixed_cores, "close", 6, { 0, 2, 4, 6, 1, 3 } },
		{ "node:1 core:4 pu:2", mixed_cores, "spread", 6, { 0, 2, 4, 6, 1, 3 } },
		{ "pack:2 [numa] core:4 pu:1",
		  second_package_smaller,
		  "spread",
		  5,
		  { 0, 6, 1, 2, 3 } },
		{ "node:2 core:2 pu:2", only_node_1, "spread", 4, { 4, 6, 5, 7 } },
		{ "node:2 core:4 pu:1", NULL, "5,0-2", 4, { 5, 0, 1, 2 } },
		{ "node:2 core:4 pu:1", NULL, "5,0-2", 2, { 5, 0 } },
		{ "node:2 core:4 pu:1", NULL, "0-6:2,7", 5, { 0, 2, 4, 6, 7 } },
	};

	(void)unused;
	for (size_t i = 0; i < COUNT(table); i++) {
		struct machine *m = open_changed(table[i].description, table[i].change);

		expect_cpus(m, table[i].bind, table[i].cpu, table[i].n);
		machine_close(m);
	}
}

/*
 * For any number of threads on any machine: no CPU has two, and no core has two more than another,
 * so siblings come after all cores have a thread.
 */
static void check_places(const struct machine *m, const struct place *place, unsigned n)
{
	unsigned *threads = calloc(m->cores, sizeof(*threads)), least = n, most = 0;
	bool *taken = calloc(m->cpus, sizeof(*taken));

	for (unsigned i = 0; i < n; i++) {
		const struct cpu *cpu = machine_cpu(m, place[i].cpu);

		assert_false(taken[cpu - m->cpu]);
		taken[cpu - m->cpu] = true;
		threads[cpu->core]++;
	}
	for (unsigned core = 0; core < m->cores; core++) {
		least = threads[core] < least ? threads[core] : least;
		most = threads[core] > most ? threads[core] : most;
	}
	assert_true(most <= least + 1);
	free(threads);
	free(taken);
}

static void check_nodes_even(const struct machine *m, const struct place *place, unsigned n)
{
	unsigned least = n, most = 0;

	for (unsigned i = 0; i < m->nodes; i++) {
		unsigned threads = 0;

		for (unsigned t = 0; t < n; t++)
			threads += place[t].node == m->node[i].number;
		least = threads < least ? threads : least;
		most = threads > most ? threads : most;
	}
	assert_true(most <= least + 1);
}

static void places_hold_what_they_promise(void **unused)
{
	static const char *const description[] = { "pu:1",
						   "core:3 pu:2",
						   "node:2 core:5 pu:2",
						   "node:3 core:3 pu:4",
						   "numa:8 l3:2 core:2 pu:2",
						   "pack:2 numa:2 l3:3 l2:2 core:1 pu:2",
						   "pack:3 [numa] core:2 pu:2(indexes=core)" };
	static const char *const bind[] = { "close", "spread" };

	(void)unused;
	for (size_t d = 0; d < COUNT(description); d++) {
		struct machine *m = open_machine(description[d]);
		struct place *place = calloc(m->cpus, sizeof(*place));

		for (unsigned n = 1; n <= m->cpus; n++)
			for (size_t b = 0; b < COUNT(bind); b++) {
				const char *why;

				assert_int_equal(machine_bind(m, bind[b], n, false, place, &why),
						 0);
				check_places(m, place, n);
				if (b == 1)
					check_nodes_even(m, place, n);
			}
		free(place);
		machine_close(m);
	}
}

static void bad_bindings(void **unused)
{
	static const struct {
		const char *bind;
		unsigned n;
		const char *expected;
	} table[] = {
		{ "close", 9,
		  "9 threads don't fit on 8 CPUs (bind: close); expected fewer (more threads than "
		  "CPUs: --oversubscribe)" },
		{ "3", 2,
		  "2 threads don't fit on 1 CPU (bind: 3); expected fewer (more threads than CPUs: "
		  "--oversubscribe)" },
		{ "0,8", 1,
		  "CPU 8 of \"0,8\" is not there, or this process may not use it; usable: 0-7" },
		{ "8-9,1,20", 1,
		  "CPUs 8-9,20 of \"8-9,1,20\" are not there, or this process may not use them; "
		  "usable: 0-7" },
		{ "9-234316:2,9-234316:2,8-9", 1,
		  "CPUs 8-9 of \"9-234316:2,9-234316:2,8-9\" are not there, or this process may "
		  "not use them; usable: 0-7" },
		{ "0-2000000000", 1,
		  "can't bind to \"0-2000000000\"; expected close, spread, float, or a list of "
		  "CPUs such as" },
		{ "1,0-3", 1,
		  "CPU 1 is twice in \"1,0-3\"; expected each once (more threads than CPUs: "
		  "--oversubscribe)" },
		{ "near", 1,
		  "can't bind to \"near\"; expected close, spread, float, or a list of CPUs "
		  "such as \"0,2-5\" (usable: 0-7)" },
		{ "", 1, "can't bind to \"\"" },
		{ "0,", 1, "can't bind to \"0,\"" },
		{ "3-1", 1, "can't bind to \"3-1\"" },
		{ "0-4:0", 1, "can't bind to \"0-4:0\"" },
		{ "-1", 1, "can't bind to \"-1\"" },
		{ "0 1", 1, "can't bind to \"0 1\"" },
		{ "99999999999999999999", 1, "can't bind to \"99999999999999999999\"" },
	};
	struct machine *m = open_machine("node:2 core:2 pu:2");
	struct place place[16];

	(void)unused;
	for (size_t i = 0; i < COUNT(table); i++) {
		const char *why = NULL;

		assert_int_equal(machine_bind(m, table[i].bind, table[i].n, false, place, &why),
				 -1);
		if (strncmp(why, table[i].expected, strlen(table[i].expected)))
			fail_msg("%s: %s", table[i].bind, why);
	}
	machine_close(m);
}

/* Restricted as by a cpuset: other CPUs do not seem to exist; nodes keep their memory. */
static void restricted_to_a_list(void **unused)
{
	struct machine *m = open_machine("node:2 core:4(memory=1GB) pu:2");
	struct place place[8];
	const char *why = NULL;
	unsigned n;
	char **list;

	(void)unused;
	assert_int_equal(machine_restrict(m, "spread", &why), 0);
	expect_size(m, 2, 8, 16);
	assert_int_equal(machine_restrict(m, "12,0-2,5", &why), 0);
	expect_size(m, 2, 4, 5);
	assert_int_equal(m->node[0].cores, 3);
	assert_int_equal(m->node[1].cores, 1);
	assert_int_equal(machine_cpu(m, 1)->sibling, 1);
	assert_int_equal(machine_cpu(m, 5)->sibling, 0);
	assert_null(machine_cpu(m, 3));
	list = machine_layouts(m, "all", 0, &n, &why);
	assert_string_equal(list[0], "3+1");
	free(list);
	expect_cpus(m, "close", (const int[]){ 0, 2, 5, 12, 1 }, 5);
	expect_cpus(m, "spread", (const int[]){ 0, 12, 2, 5, 1 }, 5);
	expect_cpus(m, "12,0-2,5", (const int[]){ 12, 0, 1, 2, 5 }, 5);
	assert_int_equal(machine_layout(m, "4+1", "12,0-2,5", false, place, &why), 0);
	for (unsigned i = 0; i < 5; i++)
		assert_int_equal(place[i].cpu, ((const int[]){ 0, 2, 5, 1, 12 })[i]);
	assert_int_equal(machine_layout(m, "5+0", "12,0-2,5", false, place, &why), -1);
	assert_non_null(strstr(why, "node 0, which has 4 CPUs"));
	assert_int_equal(machine_restrict(m, "0,3", &why), -1);
	assert_string_equal(
		why,
		"CPU 3 of \"0,3\" is not there, or this process may not use it; usable: 0-2,5,12");
	assert_int_equal(machine_restrict(m, "sideways", &why), -1);
	assert_int_equal(machine_restrict(m, "12", &why), 0);
	expect_size(m, 2, 1, 1);
	assert_int_equal(machine_cpu_nodes(m), 1);
	assert_int_equal(machine_node(m, 0)->cpus, 0);
	assert_true(machine_node(m, 0)->memory > 0);
	machine_close(m);
}

static void layouts_within_a_node(void **unused)
{
	struct machine *m = open_machine("pack:2 [numa] l3:2 core:2 pu:2");
	static const int close[] = { 0, 2, 4, 8, 10 }, spread[] = { 0, 4, 2, 8, 12 };
	struct place place[5];
	const char *why = NULL;

	(void)unused;
	for (unsigned s = 0; s < 2; s++) {
		assert_int_equal(
			machine_layout(m, "3+2", s ? "spread" : "layout", false, place, &why), 0);
		for (unsigned i = 0; i < COUNT(place); i++)
			assert_int_equal(place[i].cpu, (s ? spread : close)[i]);
	}
	machine_close(m);
}

static void oversubscription_begins_again(void **unused)
{
	static const int expected[] = { 0, 2, 1, 3, 0, 2, 1 };
	struct machine *m = open_machine("node:1 core:2 pu:2");
	struct place place[COUNT(expected)];
	const char *why;

	(void)unused;
	assert_int_equal(machine_bind(m, "close", COUNT(expected), true, place, &why), 0);
	for (size_t i = 0; i < COUNT(expected); i++)
		assert_int_equal(place[i].cpu, expected[i]);
	assert_int_equal(machine_layout(m, "7", "layout", true, place, &why), 0);
	for (size_t i = 0; i < COUNT(expected); i++)
		assert_int_equal(place[i].cpu, expected[i]);
	machine_close(m);
}

static void lists_of_cpus_are_short(void **unused)
{
	static const struct {
		void (*change)(hwloc_topology_t);
		const char *expected;
	} table[] = {
		{ NULL, "usable: 0-7" },
		{ only_second_siblings, "usable: 1-7:2" },
		{ only_node_1, "usable: 4-7" },
		{ mixed_cores, "usable: 0-4,6" },
	};

	(void)unused;
	for (size_t i = 0; i < COUNT(table); i++) {
		struct machine *m = open_changed("node:2 core:2 pu:2", table[i].change);
		struct place place;
		const char *why = "";

		assert_int_equal(machine_bind(m, "100", 1, false, &place, &why), -1);
		assert_string_equal(strstr(why, "usable"), table[i].expected);
		machine_close(m);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(orders_in_numbers),
		cmocka_unit_test(places_hold_what_they_promise),
		cmocka_unit_test(bad_bindings),
		cmocka_unit_test(restricted_to_a_list),
		cmocka_unit_test(layouts_within_a_node),
		cmocka_unit_test(oversubscription_begins_again),
		cmocka_unit_test(lists_of_cpus_are_short),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
