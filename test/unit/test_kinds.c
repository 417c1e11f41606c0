/* SPDX-License-Identifier: Apache-2.0 */
/* Kinds of cores: found, named, and filled in order; how a machine is printed. */
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
#include "machines.h"

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

/*
 * Threads fill fast cores first, and the record distinguishes them; a list of CPUs is taken as
 * given.
 */
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
		/* slow cores come before the second threads of fast ones */
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

/* Arm's firmware may report caches without their sizes. */
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

/* Adds an HMAT as firmware does: for node 1 only the read latency, from both nodes. */
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

/* hwloc's environment variables may name another machine: they are ignored, and reported. */
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

int main(void)
{
	const struct CMUnitTest tests[] = {
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
