/* SPDX-License-Identifier: Apache-2.0 */
/* Machines are read correctly from hwloc: nodes, cores, CPUs, caches, levels. */
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

static void memory_of_node_0(hwloc_topology_t t)
{
	allow(t, "0-7", "0");
}

/* No node reports its memory, as if /sys were hidden. */
static void memory_of_no_node(hwloc_topology_t t)
{
	for (int i = 0; i < hwloc_get_nbobjs_by_type(t, HWLOC_OBJ_NUMANODE); i++)
		hwloc_get_obj_by_type(t, HWLOC_OBJ_NUMANODE, (unsigned)i)
			->attr->numanode.local_memory = 0;
}

static void sizes_of_descriptions(void **unused)
{
	static const struct {
		const char *description;
		unsigned nodes, cpu_nodes, cores, cpus, on_last;
	} table[] = {
		{ "node:2 core:64 pu:2", 2, 2, 128, 256, 128 },
		{ "NUMANode:2 core:64 pu:2", 2, 2, 128, 256, 128 },
		{ "numa:8 l3:2 core:4 pu:1", 8, 8, 64, 64, 8 },
		{ "package:2 [numa] core:2 pu:2", 2, 2, 4, 8, 4 },
		{ "core:3 pu:2", 1, 1, 3, 6, 6 },
		{ "3 2", 3, 3, 6, 6, 2 },
		{ "pu:1", 1, 1, 1, 1, 1 },
		{ "pack:2 [numa(memory=4GB)] [numa(memory=1GB)] core:2 pu:2", 4, 2, 4, 8, 0 },
		{ "node:64 core:32 pu:2", 64, 64, 2048, 4096, 64 },
	};

	(void)unused;
	for (size_t i = 0; i < COUNT(table); i++) {
		struct machine *m = open_machine(table[i].description);
		const struct node *last = &m->node[m->nodes - 1];

		expect_size(m, table[i].nodes, table[i].cores, table[i].cpus);
		assert_int_equal(machine_cpu_nodes(m), table[i].cpu_nodes);
		assert_int_equal(last->cpus, table[i].on_last);
		assert_false(m->running);
		assert_string_equal(m->name, table[i].description);
		assert_int_equal(m->page, sysconf(_SC_PAGESIZE));
		assert_true(m->line > 0);
		machine_close(m);
	}
}

static void memory_only_nodes(void **unused)
{
	struct machine *m =
		open_machine("pack:2 [numa(memory=4GB)] [numa(memory=1GB)] core:2 pu:2");

	(void)unused;
	for (int n = 0; n < 4; n++) {
		assert_int_equal(machine_node(m, n)->cores, n % 2 ? 0 : 2);
		assert_int_equal(machine_node(m, n)->memory, n % 2 ? 1000000000 : 4000000000);
	}
	assert_int_equal(machine_cpu(m, 3)->node, 0);
	assert_int_equal(machine_cpu(m, 4)->node, 2);
	assert_int_equal(machine_cpu(m, 4)->package, 1);
	machine_close(m);
}

static void sparse_nodes_out_of_order(void **unused)
{
	struct machine *m = open_machine("group:2 [numa(indexes=5,2 memory=1GB)] core:2 pu:1");

	(void)unused;
	assert_int_equal(m->node[0].number, 2);
	assert_int_equal(m->node[1].number, 5);
	assert_null(machine_node(m, 0));
	assert_int_equal(machine_cpu(m, 0)->node, 5);
	assert_int_equal(machine_cpu(m, 2)->node, 2);
	assert_int_equal(machine_node(m, 5)->cores, 2);
	machine_close(m);
}

static void caches(void **unused)
{
	struct machine *m =
		open_machine("node:2 l3:2(size=32MB) l2:4(size=1MB) l1:1(size=48KB) core:1 pu:2");

	(void)unused;
	assert_int_equal(m->last_cache, 32000000);
	assert_int_equal(m->line, 64);
	machine_close(m);
	m = open_machine("core:4 pu:1");
	assert_int_equal(m->last_cache, 0);
	machine_close(m);
}

static void siblings_are_ranked_among_the_usable(void **unused)
{
	struct machine *m = open_changed("node:2 core:2 pu:2", only_second_siblings);

	(void)unused;
	expect_size(m, 2, 4, 4);
	assert_null(machine_cpu(m, 0));
	for (unsigned i = 0; i < m->cpus; i++) {
		assert_int_equal(m->cpu[i].number, 2 * i + 1);
		assert_int_equal(m->cpu[i].core, i);
		assert_int_equal(m->cpu[i].sibling, 0);
	}
	machine_close(m);
}

static void node_without_our_cpus(void **unused)
{
	struct machine *m = open_changed("node:2 core:2 pu:2", only_node_1);
	const char *why = NULL;
	unsigned n;
	char **list;

	(void)unused;
	expect_size(m, 2, 2, 4);
	assert_int_equal(machine_node(m, 0)->cpus, 0);
	assert_true(machine_node(m, 0)->memory > 0);
	assert_int_equal(machine_cpu_nodes(m), 1);
	list = machine_layouts(m, "split", 0, &n, &why);
	assert_string_equal(list[0], "2");
	free(list);
	assert_null(machine_layouts(m, "node:0", 0, &n, &why));
	assert_string_equal(why, "layout node:0: that node has no CPUs that this process may use; "
				 "nodes with CPUs: 1");
	machine_close(m);
}

/* A cpuset may allow the CPUs of a node but not its memory: the CPUs still belong to the node. */
static void node_without_our_memory(void **unused)
{
	struct machine *m = open_changed("node:2 core:2 pu:2", memory_of_node_0);

	(void)unused;
	assert_int_equal(machine_node(m, 1)->memory, 0);
	assert_int_equal(machine_node(m, 1)->cpus, 4);
	assert_int_equal(machine_cpu(m, 7)->node, 1);
	assert_true(machine_has_memory(m, &m->node[0]));
	assert_false(machine_has_memory(m, &m->node[1]));
	machine_close(m);
}

static void nodes_that_do_not_say_what_memory_they_have(void **unused)
{
	struct machine *m = open_changed("node:2 core:2 pu:2", memory_of_no_node);

	(void)unused;
	assert_int_equal(m->node[0].memory + m->node[1].memory, 0);
	assert_true(machine_has_memory(m, &m->node[0]) && machine_has_memory(m, &m->node[1]));
	machine_close(m);
}

static void from_xml_as_described(void **unused)
{
	const char *description = "pack:2 [numa(memory=4GB)] l3:2 core:2 pu:2";
	struct machine *a = open_machine(description), *b = open_changed(description, NULL);

	(void)unused;
	expect_size(b, a->nodes, a->cores, a->cpus);
	assert_memory_equal(a->cpu, b->cpu, a->cpus * sizeof(*a->cpu));
	assert_int_equal(a->last_cache, b->last_cache);
	for (unsigned i = 0; i < a->nodes; i++)
		assert_int_equal(a->node[i].memory, b->node[i].memory);
	machine_close(a);
	machine_close(b);
}

static void this_machine(void **unused)
{
	cpu_set_t all, one;
	struct machine *m = open_machine(NULL);
	int number = m->cpu[m->cpus - 1].number;

	(void)unused;
	assert_int_equal(sched_getaffinity(0, sizeof(all), &all), 0);
	assert_int_equal(m->cpus, CPU_COUNT(&all));
	assert_true(m->running);
	assert_string_equal(m->name, "this machine");
	for (unsigned i = 0; i < m->cpus; i++) {
		assert_true(CPU_ISSET(m->cpu[i].number, &all));
		assert_non_null(machine_node(m, m->cpu[i].node));
	}
	machine_close(m);

	CPU_ZERO(&one);
	CPU_SET(number, &one);
	assert_int_equal(sched_setaffinity(0, sizeof(one), &one), 0);
	m = open_machine(NULL);
	assert_int_equal(sched_setaffinity(0, sizeof(all), &all), 0);
	expect_size(m, m->nodes, 1, 1);
	assert_int_equal(m->cpu[0].number, number);
	machine_close(m);
}

static void bad_descriptions(void **unused)
{
	static const struct {
		const char *description, *expected;
	} table[] = {
		{ "foo", "neither a file nor a description" },
		{ "", "neither a file nor a description" },
		{ "node:2", "neither a file nor a description" },
		{ "node:2 core:64", "neither a file nor a description" },
		{ "node:0 core:2 pu:1", "neither a file nor a description" },
		{ "node:2 core:-1 pu:2", "at most 8192 are possible" },
		{ "node:+7104 core: 8 pu:0x10",
		  "would have 909312 CPUs; at most 8192 are possible" },
		{ "node:2 core:64 pu:2)", "neither a file nor a description" },
		{ "node:2 core:99999999 pu:2",
		  "would have 399999996 CPUs; at most 8192 are possible" },
		{ "node:99999999999999999999 pu:1", "at most 8192 are possible" },
		/* given these descriptions, hwloc would abort */
		{ "(indexes=no)core:1 node:2 pu:1", "only CPUs, the last item, can be numbered" },
		{ "4(indexes=no)4 1", "only CPUs, the last item, can be numbered" },
		{ "pack:2(indexes=core) core:2 pu:2", "only CPUs, the last item, can be numbered" },
		{ "pack:2 core:2 pu:2 [numa(indexes=core)]",
		  "only CPUs, the last item, can be numbered" },
		{ "/nowhere/machine.xml", "no such file" },
		{ "machine.xml", "no such file" },
		{ "/tmp", "not a regular file" },
		{ "/dev/null", "not a regular file" },
		{ "/proc/self/status", "not the XML of a topology" },
	};

	(void)unused;
	for (size_t i = 0; i < COUNT(table); i++) {
		const char *error = NULL;

		assert_null(machine_open(table[i].description, &error));
		if (!strstr(error, table[i].expected) || !strstr(error, "\"node:2 core:64 pu:2\""))
			fail_msg("%s: %s", table[i].description, error);
	}
}

static void bad_files(void **unused)
{
	static const struct {
		const char *text, *word;
	} table[] = {
		{ "", "not the XML of a topology" },
		{ "<", "not the XML of a topology" },
		{ "<topology><object/></topology>", "not the XML of a topology" },
		{ "<?xml version=\"1.0\"?><topology version=\"2.0\"/>",
		  "not the XML of a topology" },
		{ "<?xml version=\"1.0\"?>\n<topology version=\"98.1\"><object/></topology>",
		  "is of hwloc 98; this locus reads up to " },
		/* without complete_cpuset, hwloc 2.9 ends by SIGSEGV */
		{ "<?xml version=\"1.0\"?><topology version=\"2.0\">"
		  "<object type=\"Machine\" os_index=\"0\" cpuset=\"0x1\" allowed_cpuset=\"0x1\""
		  " nodeset=\"0x1\" complete_nodeset=\"0x1\" allowed_nodeset=\"0x1\">"
		  "<object type=\"NUMANode\" os_index=\"0\" cpuset=\"0x1\" nodeset=\"0x1\""
		  " complete_nodeset=\"0x1\" local_memory=\"1024\"/>"
		  "<object type=\"PU\" os_index=\"0\" cpuset=\"0x1\" nodeset=\"0x1\""
		  " complete_nodeset=\"0x1\"/></object></topology>",
		  "not the XML of a topology" },
	};

	(void)unused;
	for (size_t i = 0; i < COUNT(table); i++) {
		const char *const text = table[i].text;
		char path[] = "/tmp/test_topology_XXXXXX";
		const char *error = NULL;
		int file = mkstemp(path);

		assert_int_equal(write(file, text, strlen(text)), strlen(text));
		close(file);
		assert_null(machine_open(path, &error));
		assert_non_null(strstr(error, path));
		if (!strstr(error, table[i].word))
			fail_msg("%s", error);
		unlink(path);
	}
}

static void levels_of_two_cpus(void **unused)
{
	static const struct {
		const char *description;
		int cpu, other;
		enum level level;
	} table[] = {
		{ "package:2 numa:2 l3:2 l2:2 core:2 pu:2", 5, 5, LEVEL_CPU },
		{ "package:2 numa:2 l3:2 l2:2 core:2 pu:2", 0, 1, LEVEL_CORE },
		{ "package:2 numa:2 l3:2 l2:2 core:2 pu:2", 1, 2, LEVEL_L2 },
		{ "package:2 numa:2 l3:2 l2:2 core:2 pu:2", 3, 4, LEVEL_L3 },
		{ "package:2 numa:2 l3:2 l2:2 core:2 pu:2", 7, 8, LEVEL_NODE },
		{ "package:2 numa:2 l3:2 l2:2 core:2 pu:2", 15, 16, LEVEL_PACKAGE },
		{ "package:2 numa:2 l3:2 l2:2 core:2 pu:2", 31, 32, LEVEL_MACHINE },
		{ "package:2 numa:2 l3:2 l2:2 core:2 pu:2", 0, 63, LEVEL_MACHINE },
		{ "core:4 pu:1", 0, 3, LEVEL_NODE },
		/* a cache that spans two nodes: two CPUs on different nodes share the package */
		{ "package:1 l3:1 numa:2 core:2 pu:1", 1, 2, LEVEL_PACKAGE },
		{ "package:1 l3:1 numa:2 core:2 pu:1", 2, 3, LEVEL_L3 },
		/* nodes without a package around them */
		{ "numa:2 l3:1 core:2 pu:1", 0, 1, LEVEL_L3 },
		/* a CPU that does not exist */
		{ "core:4 pu:1", 0, 4, LEVEL_MACHINE },
	};

	(void)unused;
	for (size_t i = 0; i < COUNT(table); i++) {
		struct machine *m = open_machine(table[i].description);

		if (machine_level(m, table[i].cpu, table[i].other) != table[i].level)
			fail_msg(
				"%s: CPUs %d and %d have %s in common, not %s",
				table[i].description, table[i].cpu, table[i].other,
				machine_level_names[machine_level(m, table[i].cpu, table[i].other)],
				machine_level_names[table[i].level]);
		assert_int_equal(machine_level(m, table[i].other, table[i].cpu), table[i].level);
		machine_close(m);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sizes_of_descriptions),
		cmocka_unit_test(memory_only_nodes),
		cmocka_unit_test(sparse_nodes_out_of_order),
		cmocka_unit_test(caches),
		cmocka_unit_test(siblings_are_ranked_among_the_usable),
		cmocka_unit_test(node_without_our_cpus),
		cmocka_unit_test(node_without_our_memory),
		cmocka_unit_test(nodes_that_do_not_say_what_memory_they_have),
		cmocka_unit_test(from_xml_as_described),
		cmocka_unit_test(this_machine),
		cmocka_unit_test(bad_descriptions),
		cmocka_unit_test(bad_files),
		cmocka_unit_test(levels_of_two_cpus),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
