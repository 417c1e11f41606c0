/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Topology: machines are read correctly from hwloc, for synthetic machines of many shapes; places
 * and layouts are checked CPU by CPU.
 */
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "commands/commands.h"
#include "machine/threads/team.h"
#include "machine/topology/topology.h"
#include "changed.h"

#define COUNT(array) (sizeof(array) / sizeof(*(array)))

static void allow(hwloc_topology_t t, const char *cpus, const char *nodes)
{
	hwloc_bitmap_t cpuset = hwloc_bitmap_alloc(), nodeset = hwloc_bitmap_alloc();

	hwloc_bitmap_list_sscanf(cpuset, cpus);
	hwloc_bitmap_list_sscanf(nodeset, nodes);
	assert_int_equal(hwloc_topology_allow(t, cpuset, nodeset, HWLOC_ALLOW_FLAG_CUSTOM), 0);
	hwloc_bitmap_free(cpuset);
	hwloc_bitmap_free(nodeset);
}

static void keep(hwloc_topology_t t, const char *cpus)
{
	hwloc_bitmap_t cpuset = hwloc_bitmap_alloc();

	hwloc_bitmap_list_sscanf(cpuset, cpus);
	assert_int_equal(hwloc_topology_restrict(t, cpuset, 0), 0);
	hwloc_bitmap_free(cpuset);
}

static void only_second_siblings(hwloc_topology_t t)
{
	allow(t, "1,3,5,7", "0-1");
}

static void only_node_1(hwloc_topology_t t)
{
	allow(t, "4-7", "0-1");
}

static void memory_of_node_0(hwloc_topology_t t)
{
	allow(t, "0-7", "0");
}

/* No node tells its memory, as if /sys were hidden. */
static void memory_of_no_node(hwloc_topology_t t)
{
	for (int i = 0; i < hwloc_get_nbobjs_by_type(t, HWLOC_OBJ_NUMANODE); i++)
		hwloc_get_obj_by_type(t, HWLOC_OBJ_NUMANODE, (unsigned)i)
			->attr->numanode.local_memory = 0;
}

/*
 * Two cores with two threads and two with one: performance and efficiency cores, or CPUs taken off
 * line.
 */
static void mixed_cores(hwloc_topology_t t)
{
	keep(t, "0-4,6");
}

/* Nodes of unlike size, with one thread a core: of 3 and 1 CPUs, of 1 and 3, of 2, 4 and 1. */
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

/* Two cores of two threads beside two of one. */
static void fewer_threads_on_node_0(hwloc_topology_t t)
{
	keep(t, "0,2,4-7");
}

static void second_package_smaller(hwloc_topology_t t)
{
	keep(t, "0-3,6");
}

/* Nodes, cores, CPUs and caches. */

static void expect_size(const struct machine *m, unsigned nodes, unsigned cores, unsigned cpus)
{
	assert_int_equal(m->nodes, nodes);
	assert_int_equal(m->cores, cores);
	assert_int_equal(m->cpus, cpus);
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

/* Places. */

static void expect_cpus(const struct machine *m, const char *bind, const int *cpu, unsigned n)
{
	struct place place[64];
	const char *why = NULL;

	if (machine_bind(m, bind, n, false, place, &why))
		fail_msg("%s: %s", bind, why);
	for (unsigned i = 0; i < n; i++) {
		assert_int_equal(place[i].cpu, cpu[i]);
		assert_int_equal(place[i].node, machine_cpu(m, cpu[i])->node);
	}
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
 * so that siblings come after all cores have a thread.
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

/* Restricted as by a cpuset: other CPUs are as if they did not exist; nodes keep their memory. */
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

/* Layouts. */

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
		/* a large one takes long to open */
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
		/* A node has as many threads as it has cores of its own. */
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
		/* Cores before their second threads, which node 0 does not have. */
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

/* Kinds of cores. */

static void two_of_a_name(hwloc_topology_t t)
{
	add_kind(t, "0-1", -1, "Color", "red", NULL);
	add_kind(t, "2-3", -1, "Color", "blue", NULL);
}

static void capacities(hwloc_topology_t t)
{
	add_kind(t, "0-1", 0, "LinuxCapacity", "446", NULL);
	add_kind(t, "2", 1, "LinuxCapacity", "871", NULL);
	add_kind(t, "3", 2, "LinuxCapacity", "1024", NULL);
}

static void unprintable(hwloc_topology_t t)
{
	add_kind(t, "0-1", 0, "CoreType", "\tb", NULL);
	add_kind(t, "2-3", 1, "CoreType", "a-type-with-a-name-of-more-than-31-letters",
		 "frequencies-of-too-many-letters");
}

static void one_of_some(hwloc_topology_t t)
{
	add_kind(t, "2-3", 0, "CoreType", "IntelCore", NULL);
}

static void one_of_all(hwloc_topology_t t)
{
	add_kind(t, "0-3", 0, "CoreType", "IntelCore", NULL);
}

static void slow_first_of_threads(hwloc_topology_t t)
{
	add_kind(t, "0-3", 0, "CoreType", "IntelAtom", NULL);
	add_kind(t, "4-7", 1, "CoreType", "IntelCore", NULL);
}

static void kinds_of_machines(void **unused)
{
	static const struct {
		const char *description;
		void (*change)(hwloc_topology_t);
		unsigned n;
		struct core_kind kind[3];
	} table[] = {
		{ "core:4 pu:1", NULL, 0, { { .rank = 0 } } },
		{ "core:4 pu:1", one_of_all, 0, { { .rank = 0 } } },
		{ "core:8 pu:1",
		  slow_first,
		  2,
		  { { "IntelCore 3900 MHz", "IntelCore", 0, 4, 4, 4 },
		    { "IntelAtom 2800 MHz", "IntelAtom", 1, 4, 4, 4 } } },
		{ "core:4 pu:2",
		  slow_first_of_threads,
		  2,
		  { { "IntelCore", "IntelCore", 0, 4, 4, 2 },
		    { "IntelAtom", "IntelAtom", 1, 4, 4, 2 } } },
		{ "core:4 pu:1",
		  capacities,
		  3,
		  { { "capacity 1024", "capacity 1024", 0, 1, 1, 1 },
		    { "capacity 871", "capacity 871", 1, 1, 1, 1 },
		    { "capacity 446", "capacity 446", 2, 2, 2, 2 } } },
		{ "core:4 pu:1",
		  two_of_a_name,
		  2,
		  { { "other", "", 0, 2, 2, 2 }, { "other (2)", "", 0, 2, 2, 2 } } },
		{ "core:4 pu:1",
		  unprintable,
		  2,
		  { { "a-type-with-a-name-of-more-than frequencies- MHz",
		      "a-type-with-a-name-of-more-than", 0, 2, 2, 2 },
		    { "?b", "?b", 1, 2, 2, 2 } } },
		{ "core:4 pu:1",
		  one_of_some,
		  2,
		  { { "IntelCore", "IntelCore", 0, 2, 2, 2 }, { "other", "", 1, 2, 2, 2 } } },
	};

	(void)unused;
	for (size_t i = 0; i < COUNT(table); i++) {
		struct machine *m = open_changed(table[i].description, table[i].change);

		assert_int_equal(m->kinds, table[i].n);
		for (unsigned k = 0; k < m->kinds; k++) {
			const struct core_kind *found = &m->kind[k], *expected = &table[i].kind[k];

			assert_string_equal(found->name, expected->name);
			assert_string_equal(found->type, expected->type);
			assert_int_equal(found->rank, expected->rank);
			assert_int_equal(found->all, expected->all);
			assert_int_equal(found->cpus, expected->cpus);
			assert_int_equal(found->cores, expected->cores);
		}
		machine_close(m);
	}
}

/* Threads fill fast cores first, and are told apart; a list of CPUs is taken as it is. */
static void fast_cores_come_first(void **unused)
{
	static const struct {
		const char *description;
		void (*change)(hwloc_topology_t);
		const char *bind;
		unsigned n;
		int cpu[8];
		const char *text;
	} table[] = {
		{ "core:8 pu:1", slow_first, "close", 1, { 4 }, "1 IntelCore 3900 MHz" },
		{ "core:8 pu:1",
		  slow_first,
		  "float",
		  6,
		  { 4, 5, 6, 7, 0, 1 },
		  "4 IntelCore 3900 MHz + 2 IntelAtom 2800 MHz" },
		{ "l2:4 core:2 pu:1",
		  slow_first,
		  "spread",
		  6,
		  { 4, 6, 5, 7, 0, 2 },
		  "4 IntelCore 3900 MHz + 2 IntelAtom 2800 MHz" },
		{ "core:8 pu:1", slow_first, "1,5", 2, { 1, 5 }, "1 IntelCore 3900 MHz + 1 Intel" },
		/* slow cores before the second threads of fast ones */
		{ "core:4 pu:2",
		  slow_first_of_threads,
		  "close",
		  8,
		  { 4, 6, 0, 2, 5, 7, 1, 3 },
		  "4 IntelCore + 4 IntelAtom" },
		{ "core:4 pu:1",
		  capacities,
		  "close",
		  4,
		  { 3, 2, 0, 1 },
		  "1 capacity 1024 + 1 cap" },
		{ "core:4 pu:1",
		  two_of_a_name,
		  "close",
		  4,
		  { 0, 1, 2, 3 },
		  "2 other + 2 other (2)" },
	};

	(void)unused;
	for (size_t i = 0; i < COUNT(table); i++) {
		struct machine *m = open_changed(table[i].description, table[i].change);
		char *text = kinds_text(m, table[i].cpu, table[i].n);

		expect_cpus(m, table[i].bind, table[i].cpu, table[i].n);
		assert_non_null(text);
		if (strncmp(text, table[i].text, strlen(table[i].text)))
			fail_msg("%s, not %s", text, table[i].text);
		free(text);
		machine_close(m);
	}
}

static void kinds_that_are_left_by_a_list(void **unused)
{
	struct machine *m = open_changed("core:8 pu:1", slow_first);
	const char *why;

	(void)unused;
	assert_int_equal(machine_restrict(m, "2,3,7", &why), 0);
	assert_int_equal(m->kinds, 2);
	assert_int_equal(m->kind[0].cores, 1);
	assert_int_equal(m->kind[1].cores, 2);
	assert_int_equal(m->kind[1].all, 4);
	assert_int_equal(m->node[0].fast, 1);
	expect_cpus(m, "close", (int[]){ 7, 2, 3 }, 3);
	machine_close(m);
}

/* The printed topology. */

static char *printed(const struct machine *m)
{
	static char *text; /* static: else gcc 12 for aarch64 warns of a returned local address */
	size_t size;
	FILE *out = open_memstream(&text, &size);

	topology_print(m, out);
	fclose(out);
	return text;
}

static void forget_sizes(hwloc_topology_t t)
{
	for (hwloc_obj_t c = NULL; (c = hwloc_get_next_obj_by_type(t, HWLOC_OBJ_L1CACHE, c));) {
		c->attr->cache.size = 0;
		c->attr->cache.linesize = 0;
	}
}

/* Arm's firmware may tell that there are caches, but not their sizes. */
static void caches_of_unknown_size(void **unused)
{
	struct machine *m = open_changed("l1:2 core:1 pu:1", forget_sizes);
	char *text;

	(void)unused;
	assert_int_equal(m->last_cache, 0);
	text = printed(m);
	assert_non_null(strstr(text, "cache       size   line   ways  count  shared by\n"
				     "L1             -      -      -      2  1 CPU\n"));
	free(text);
	machine_close(m);
}

static void describe(hwloc_topology_t t, const char *name, unsigned node, unsigned of,
		     hwloc_uint64_t value)
{
	hwloc_memattr_id_t id;
	hwloc_obj_t to = hwloc_get_obj_by_type(t, HWLOC_OBJ_NUMANODE, node);
	struct hwloc_location from = {
		.type = HWLOC_LOCATION_TYPE_CPUSET,
		.location.cpuset = hwloc_get_obj_by_type(t, HWLOC_OBJ_NUMANODE, of)->cpuset
	};

	assert_int_equal(hwloc_memattr_get_by_name(t, name, &id), 0);
	assert_int_equal(hwloc_memattr_set_value(t, id, to, &from, 0, value), 0);
}

/* Adds an HMAT as firmware does: of node 1 only the read latency, from both nodes. */
static void with_hmat(hwloc_topology_t t)
{
	describe(t, "ReadLatency", 0, 0, 80);
	describe(t, "WriteLatency", 0, 0, 85);
	describe(t, "ReadBandwidth", 0, 0, 40 << 10);
	describe(t, "WriteBandwidth", 0, 0, 512);
	describe(t, "ReadLatency", 1, 0, 160);
	describe(t, "ReadLatency", 1, 1, 90);
}

static void what_firmware_says_of_memory(void **unused)
{
	const char *const description = "pack:2 [numa] core:2 pu:1";
	struct machine *m = open_changed(description, NULL);
	hwloc_memattr_id_t id;
	char *text = printed(m);

	(void)unused;
	assert_null(strstr(text, "HMAT"));
	free(text);
	if (hwloc_memattr_get_by_name(m->topology, "ReadLatency", &id)) {
		machine_close(m);
		skip(); /* hwloc before 2.8 */
	}
	machine_close(m);
	m = open_changed(description, with_hmat);
	text = printed(m);
	if (!strstr(text, "node     read latency    write latency   read bandwidth  write "
			  "bandwidth  from CPUs\n"
			  "   0            80 ns            85 ns         40 GiB/s        512 "
			  "MiB/s  0-1\n"
			  "   1           160 ns                -                -                "
			  "-  0-1\n"
			  "   1            90 ns                -                -                "
			  "-  2-3\n"))
		fail_msg("%s", text);
	free(text);
	machine_close(m);
}

/* hwloc's variables may name another machine: they are ignored, and reported. */
static void variables_do_not_mislead(void **unused)
{
	static const struct {
		const char *name, *value, *also, *told;
	} table[] = {
		{ "HWLOC_SYNTHETIC", "node:8 core:16 pu:2", "HWLOC_THISSYSTEM",
		  "HWLOC_SYNTHETIC, HWLOC_THISSYSTEM" },
		{ "HWLOC_SYNTHETIC", "node:8 core:16 pu:2", NULL, "HWLOC_SYNTHETIC" },
		{ "HWLOC_XMLFILE", NULL, "HWLOC_THISSYSTEM", "HWLOC_XMLFILE, HWLOC_THISSYSTEM" },
		{ "HWLOC_XMLFILE", NULL, NULL, "HWLOC_XMLFILE" },
		{ "HWLOC_COMPONENTS", "no_os,stop", NULL, "HWLOC_COMPONENTS" },
		{ "HWLOC_FSROOT", "/tmp", NULL, "HWLOC_FSROOT" },
		{ "HWLOC_THISSYSTEM", "0", NULL, "HWLOC_THISSYSTEM" },
	};
	char path[] = "/tmp/test_topology_XXXXXX", *expected, *text;
	struct machine *m = open_machine(NULL);
	hwloc_topology_t t;

	(void)unused;
	expected = printed(m);
	assert_string_equal(m->ignored, "");
	machine_close(m);
	close(mkstemp(path));
	hwloc_topology_init(&t);
	hwloc_topology_set_synthetic(t, "node:8 core:16 pu:2");
	hwloc_topology_load(t);
	assert_int_equal(hwloc_topology_export_xml(t, path, 0), 0);
	hwloc_topology_destroy(t);
	for (size_t i = 0; i < COUNT(table); i++) {
		setenv(table[i].name, table[i].value ? table[i].value : path, 1);
		if (table[i].also)
			setenv(table[i].also, "1", 1);
		m = open_machine(NULL);
		assert_string_equal(m->ignored, table[i].told);
		assert_true(m->running);
		assert_null(getenv(table[i].name));
		text = printed(m);
		assert_string_equal(text, expected);
		free(text);
		machine_close(m);
	}
	unlink(path);
	free(expected);
}

static void kinds_are_printed(void **unused)
{
	static const struct {
		const char *description;
		void (*change)(hwloc_topology_t);
		const char *expected;
	} table[] = {
		{ "core:4 pu:1", NULL, NULL },
		{ "core:8 pu:1", slow_first,
		  "\nkind of core               by speed  cores  CPUs\n"
		  "IntelCore 3900 MHz                1      4  4-7\n"
		  "IntelAtom 2800 MHz                2      4  0-3\n" },
		{ "core:4 pu:1", two_of_a_name,
		  "\nkind of core               by speed  cores  CPUs\n"
		  "other                       unknown      2  0-1\n"
		  "other (2)                   unknown      2  2-3\n" },
	};

	(void)unused;
	for (size_t i = 0; i < COUNT(table); i++) {
		struct machine *m = open_changed(table[i].description, table[i].change);
		char *text = printed(m);

		if (!table[i].expected)
			assert_null(strstr(text, "kind of core"));
		else if (!strstr(text, table[i].expected))
			fail_msg("%s", text);
		free(text);
		machine_close(m);
	}
}

static void printed_in_80_columns(void **unused)
{
	static const char *const description[] = {
		"node:2 core:64 pu:2",
		"pack:2 numa:4 l3:2 l2:8 l1:1 core:1 pu:2(indexes=2*256:256*1)",
		"pack:2 [numa] [numa(memory=64GB)] l3:1 core:32 pu:1", "pu:1"
	};

	(void)unused;
	for (size_t i = 0; i < COUNT(description); i++) {
		struct machine *m = open_machine(description[i]);
		char *text = printed(m), *rest;

		for (char *line = strtok_r(text, "\n", &rest); line;
		     line = strtok_r(NULL, "\n", &rest))
			assert_true(strlen(line) <= 80);
		free(text);
		machine_close(m);
	}
}

/* The closest level that two CPUs share. */

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
		/* a CPU that is not there */
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
		cmocka_unit_test(orders_in_numbers),
		cmocka_unit_test(places_hold_what_they_promise),
		cmocka_unit_test(bad_bindings),
		cmocka_unit_test(restricted_to_a_list),
		cmocka_unit_test(layouts_within_a_node),
		cmocka_unit_test(oversubscription_begins_again),
		cmocka_unit_test(lists_of_cpus_are_short),
		cmocka_unit_test(words_in_numbers),
		cmocka_unit_test(words_on_unequal_nodes),
		cmocka_unit_test(bad_words),
		cmocka_unit_test(layouts_in_places),
		cmocka_unit_test(threads_of_layouts),
		cmocka_unit_test(kinds_of_machines),
		cmocka_unit_test(fast_cores_come_first),
		cmocka_unit_test(kinds_that_are_left_by_a_list),
		cmocka_unit_test(caches_of_unknown_size),
		cmocka_unit_test(what_firmware_says_of_memory),
		cmocka_unit_test(variables_do_not_mislead),
		cmocka_unit_test(kinds_are_printed),
		cmocka_unit_test(printed_in_80_columns),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
