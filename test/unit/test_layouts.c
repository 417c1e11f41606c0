/* SPDX-License-Identifier: Apache-2.0 */
/* Places of threads by layout, checked CPU by CPU. */
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

/* Nodes of different sizes, with one thread a core: of 3 and 1 CPUs, of 1 and 3, of 2, 4 and 1. */
static void three_and_one(hwloc_topology_t t)
{
	keep(t, "0-2,4");
}

static void one_and_three(hwloc_topology_t t)
{
	keep(t, "0,4-6");
}

static void two_four_one(hwloc_topology_t t)
{
	keep(t, "0-1,4-7,8");
}

/* Two cores with two threads each, and two with one. */
static void fewer_threads_on_node_0(hwloc_topology_t t)
{
	keep(t, "0,2,4-7");
}

static void expect_layouts(const struct machine *m, const char *word, unsigned threads,
			   const char *expected)
{
	const char *why = NULL;
	char joined[64] = "";
	unsigned n;
	char **list = machine_layouts(m, word, threads, &n, &why);

	if (!list)
		fail_msg("%s: %s", word, why);
	for (unsigned l = 0; l < n; l++) {
		strcat(joined, l ? " " : "");
		strcat(joined, list[l]);
	}
	if (strcmp(joined, expected))
		fail_msg("%s of %u threads on %s: %s, not %s", word, threads, m->name, joined,
			 expected);
	free(list);
}

static void words_in_numbers(void **unused)
{
	static const char *const two = "node:2 core:4 pu:2", *const one = "core:2 pu:1",
				 *const three = "pack:3 [numa] [numa] core:2 pu:1",
				 *const single = "node:2 core:1 pu:1",
				 *const large = "node:2 core:1024 pu:1";
	static const struct {
		const char *description, *word;
		unsigned threads;
		const char *expected;
	} table[] = {
		{ two, "packed", 0, "4+0" },
		{ two, "split", 0, "2+2" },
		{ two, "all", 0, "4+4" },
		{ two, "each", 0, "4+0 0+4" },
		{ two, "node:1", 0, "0+4" },
		{ two, "packed", 16, "16+0" },
		{ two, "split", 3, "2+1" },
		{ two, "split", 1, "1+0" },
		{ two, "each", 1, "1+0 0+1" },
		{ two, "8+8", 0, "8+8" },
		{ two, "8+8", 16, "8+8" },
		{ two, "8", 0, "8+0" },
		{ two, "0+08", 0, "0+8" },
		{ two, "all", 8, "4+4" },
		{ one, "packed", 0, "2" },
		{ one, "split", 0, "2" },
		{ one, "all", 0, "2" },
		{ one, "each", 0, "2" },
		{ one, "node:0", 0, "2" },
		{ one, "2", 2, "2" },
		{ three, "packed", 0, "2+0+0" },
		{ three, "split", 0, "1+1+0" },
		{ three, "split", 8, "3+3+2" },
		{ three, "node:4", 1, "0+0+1" },
		{ three, "each", 1, "1+0+0 0+1+0 0+0+1" },
		{ single, "packed", 0, "1+0" },
		{ single, "split", 0, "1+0" },
		{ single, "all", 0, "1+1" },
		{ two, "split", 9, "5+4" },
		{ two, "split", 17, "9+8" },
		{ large, "all", 0, "1024+1024" },
		{ large, "split", 2047, "1024+1023" },
	};
	struct machine *m = NULL;

	(void)unused;
	for (size_t i = 0; i < COUNT(table); i++) {
		/* a large machine takes long to open */
		if (i == 0 || strcmp(table[i].description, table[i - 1].description)) {
			machine_close(m);
			m = open_machine(table[i].description);
		}
		expect_layouts(m, table[i].word, table[i].threads, table[i].expected);
	}
	machine_close(m);
}

static void fewer_but_fast_on_node_1(hwloc_topology_t t)
{
	slow_first(t);
	keep(t, "0-5");
}

static void words_on_unequal_nodes(void **unused)
{
	static const char *const two = "node:2 core:4 pu:1", *const smt = "node:2 core:2 pu:2",
				 *const three = "node:3 core:4 pu:1";
	static const struct {
		const char *description;
		void (*change)(hwloc_topology_t);
		const char *word;
		unsigned threads;
		const char *expected;
	} table[] = {
		/* A node has as many threads as it has cores. */
		{ two, three_and_one, "packed", 0, "3+0" },
		{ two, three_and_one, "split", 0, "2+1" },
		{ two, three_and_one, "all", 0, "3+1" },
		{ two, three_and_one, "each", 0, "3+0 0+1" },
		{ two, three_and_one, "node:0", 0, "3+0" },
		{ two, three_and_one, "node:1", 0, "0+1" },
		{ two, three_and_one, "node:1", 2, "0+2" },
		{ two, three_and_one, "split", 2, "1+1" },
		{ two, three_and_one, "split", 4, "3+1" },
		{ two, three_and_one, "split", 7, "4+3" },
		{ two, three_and_one, "packed", 4, "4+0" },
		/* The largest node is not the first. */
		{ two, one_and_three, "packed", 0, "0+3" },
		{ two, one_and_three, "packed", 1, "0+1" },
		{ two, one_and_three, "split", 0, "1+2" },
		{ two, one_and_three, "split", 4, "1+3" },
		{ two, one_and_three, "each", 0, "1+0 0+3" },
		{ three, two_four_one, "packed", 0, "0+4+0" },
		{ three, two_four_one, "split", 0, "2+1+1" },
		{ three, two_four_one, "split", 6, "2+3+1" },
		/* The node with most fast cores, if both are empty. */
		{ two, slow_first, "packed", 0, "0+4" },
		{ two, slow_first, "packed", 1, "0+1" },
		{ two, slow_first, "split", 1, "0+1" },
		{ two, slow_first, "split", 2, "1+1" },
		{ two, slow_first, "split", 3, "1+2" },
		{ two, slow_first, "all", 0, "4+4" },
		{ two, slow_first, "node:0", 0, "4+0" },
		{ "node:2 core:4 pu:1", fewer_but_fast_on_node_1, "packed", 0, "0+2" },
		/* Cores come before second threads, which node 0 does not have. */
		{ smt, fewer_threads_on_node_0, "packed", 0, "0+2" },
		{ smt, fewer_threads_on_node_0, "split", 5, "2+3" },
		{ smt, fewer_threads_on_node_0, "split", 6, "2+4" },
	};

	(void)unused;
	for (size_t i = 0; i < COUNT(table); i++) {
		struct machine *m = open_changed(table[i].description, table[i].change);

		expect_layouts(m, table[i].word, table[i].threads, table[i].expected);
		machine_close(m);
	}
}

static void bad_words(void **unused)
{
	static const struct {
		const char *word;
		unsigned threads;
		const char *expected;
	} table[] = {
		{ "scattered", 0,
		  "\"scattered\" is not a layout; expected packed, split, all, each, node:N, or "
		  "threads on each node (8+8)" },
		{ "", 0, "\"\" is not a layout" },
		{ "8+", 0, "\"8+\" is not a layout" },
		{ "+8", 0, "\"+8\" is not a layout" },
		{ "-8", 0, "\"-8\" is not a layout" },
		{ "8 8", 0, "\"8 8\" is not a layout" },
		{ "9999999999", 0, "\"9999999999\" is not a layout" },
		{ "0+0", 0, "layout 0+0 has no thread; expected at least one" },
		{ "1+2+3", 0,
		  "layout 1+2+3 has 3 numbers; expected one for each node with CPUs (0-1)" },
		{ "8+8", 4, "layout 8+8 has 16 threads, not the 4 asked for; give one of the two" },
		{ "all", 3, "layout all has 8 threads, not the 3 asked for; give one of the two" },
		{ "node:2", 0, "layout node:2: there is no such node; nodes with CPUs: 0-1" },
		{ "node:", 0, "layout node:: there is no such node; nodes with CPUs: 0-1" },
		{ "node:x", 0, "layout node:x: there is no such node; nodes with CPUs: 0-1" },
		{ "packed", 4000000, "4000000 threads are too many" },
	};
	struct machine *m = open_machine("node:2 core:4 pu:2");

	(void)unused;
	for (size_t i = 0; i < COUNT(table); i++) {
		const char *why = NULL;
		unsigned n = 1;

		assert_null(machine_layouts(m, table[i].word, table[i].threads, &n, &why));
		assert_int_equal(n, 0);
		if (strncmp(why, table[i].expected, strlen(table[i].expected)))
			fail_msg("%s: %s", table[i].word, why);
	}
	machine_close(m);
}

static void layouts_in_places(void **unused)
{
	static const int expected[] = { 0, 2, 4, 6, 1, 8 };
	struct machine *m = open_machine("node:2 core:4 pu:2");
	struct place place[16];
	const char *why = NULL;

	(void)unused;
	assert_int_equal(machine_layout(m, "5+1", "layout", false, place, &why), 0);
	for (size_t i = 0; i < COUNT(expected); i++) {
		assert_int_equal(place[i].cpu, expected[i]);
		assert_int_equal(place[i].node, i == 5);
	}
	assert_int_equal(machine_layout(m, "0+9", "layout", false, place, &why), -1);
	assert_string_equal(
		why,
		"layout 0+9 asks for 9 threads on node 1, which has 8 CPUs; expected fewer (more "
		"threads than CPUs: --oversubscribe)");
	assert_int_equal(machine_layout(m, "0+9", "layout", true, place, &why), 0);
	assert_int_equal(place[8].cpu, 8);
	for (const char *const *bad =
		     (const char *const[]){ "8", "8+0+0", "0+0", "x", "", "1+", NULL };
	     *bad; bad++)
		assert_int_equal(machine_layout(m, *bad, "layout", false, place, &why), -1);
	machine_close(m);
}

static void threads_of_layouts(void **unused)
{
	(void)unused;
	assert_int_equal(machine_layout_threads("8"), 8);
	assert_int_equal(machine_layout_threads("8+0"), 8);
	assert_int_equal(machine_layout_threads("0+10+3"), 13);
	assert_int_equal(machine_layout_threads("8+"), 0);
	assert_int_equal(machine_layout_threads("packed"), 0);
	assert_int_equal(machine_layout_threads(""), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(words_in_numbers),   cmocka_unit_test(words_on_unequal_nodes),
		cmocka_unit_test(bad_words),	      cmocka_unit_test(layouts_in_places),
		cmocka_unit_test(threads_of_layouts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
