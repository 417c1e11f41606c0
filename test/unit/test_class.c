/* SPDX-License-Identifier: Apache-2.0 */
/* Kinds of cores, distances, and the class of equal machines. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "records.h"

static json_t *provenance_of_changed(void (*change)(hwloc_topology_t))
{
	struct machine *m = open_changed("core:8 pu:1", change);
	json_t *p = provenance_machine_at(root, m);

	machine_close(m);
	return p;
}

static void same_at_other_speeds(hwloc_topology_t t)
{
	add_kind(t, "0-3", 0, "CoreType", "IntelAtom", "2000");
	add_kind(t, "4-7", 1, "CoreType", "IntelCore", "2000");
}

static void three_of_two_types(hwloc_topology_t t)
{
	add_kind(t, "0-3", 0, "CoreType", "IntelAtom", "2800");
	add_kind(t, "4-5", 1, "CoreType", "IntelCore", "3900");
	add_kind(t, "6-7", 2, "CoreType", "IntelCore", "5800");
}

static void other_numbers(hwloc_topology_t t)
{
	add_kind(t, "0-1", 0, "CoreType", "IntelAtom", "2800");
	add_kind(t, "2-7", 1, "CoreType", "IntelCore", "3900");
}

static void speeds_alone(hwloc_topology_t t)
{
	add_kind(t, "0-3", 0, "FrequencyBaseMHz", "2000", "2800");
	add_kind(t, "4-7", 1, "FrequencyBaseMHz", "2000", "3900");
}

static void speeds_of_one_type(hwloc_topology_t t)
{
	add_kind(t, "0-5", 0, "CoreType", "IntelCore", "3900");
	add_kind(t, "6-7", 1, "CoreType", "IntelCore", "5800");
}

/* Fast and slow cores are distinguished and are part of the class; their frequencies are not. */
static void kinds_of_cores(void **state)
{
	static const struct {
		void (*change)(hwloc_topology_t);
		bool same; /* the same as slow_first; otherwise as a machine without kinds */
	} table[] = { { same_at_other_speeds, true },
		      { three_of_two_types, true },
		      { speeds_alone, false },
		      { speeds_of_one_type, false } };
	json_t *none = provenance_of_changed(NULL), *two = provenance_of_changed(slow_first),
	       *other = provenance_of_changed(other_numbers), *kinds = at(two, "topology.kinds"),
	       *first = json_array_get(kinds, 0), *second = json_array_get(kinds, 1);

	(void)state;
	assert_null(json_object_get(at(none, "topology"), "kinds"));
	assert_int_equal(json_array_size(kinds), 2);
	assert_string_equal(text_at(first, "name"), "IntelCore 3900 MHz");
	assert_int_equal(integer_at(first, "rank"), 0);
	assert_int_equal(integer_at(first, "cores"), 4);
	assert_int_equal(json_integer_value(json_array_get(at(first, "cpus"), 0)), 4);
	assert_string_equal(text_at(second, "name"), "IntelAtom 2800 MHz");
	assert_int_equal(integer_at(second, "rank"), 1);
	assert_int_equal(json_array_size(at(second, "cpus")), 4);
	assert_string_not_equal(text_at(none, "class"), text_at(two, "class"));
	assert_string_not_equal(text_at(other, "class"), text_at(two, "class"));
	for (size_t i = 0; i < LENGTH(table); i++) {
		json_t *p = provenance_of_changed(table[i].change);

		assert_string_equal(text_at(p, "class"),
				    text_at(table[i].same ? two : none, "class"));
		json_decref(p);
	}
	json_decref(none);
	json_decref(two);
	json_decref(other);
}

static void distances_follow_the_nodes(void **state)
{
	hwloc_obj_t nodes[2];
	hwloc_uint64_t values[] = { 10, 21, 22, 10 };
	hwloc_distances_add_handle_t d;
	json_t *p, *matrix;

	(void)state;
	/* hwloc's matrix begins with node 1; the record's has the order of the nodes */
	nodes[0] = hwloc_get_obj_by_type(machine->topology, HWLOC_OBJ_NUMANODE, 1);
	nodes[1] = hwloc_get_obj_by_type(machine->topology, HWLOC_OBJ_NUMANODE, 0);
	d = hwloc_distances_add_create(
		machine->topology, NULL,
		HWLOC_DISTANCES_KIND_FROM_USER | HWLOC_DISTANCES_KIND_MEANS_LATENCY, 0);
	assert_non_null(d);
	assert_int_equal(hwloc_distances_add_values(machine->topology, d, 2, nodes, values, 0), 0);
	assert_int_equal(hwloc_distances_add_commit(machine->topology, d, 0), 0);
	p = provenance_of(NULL);
	matrix = at(p, "topology.distances");
	assert_int_equal(json_array_size(matrix), 2);
	assert_int_equal(json_integer_value(json_array_get(json_array_get(matrix, 0), 0)), 10);
	assert_int_equal(json_integer_value(json_array_get(json_array_get(matrix, 0), 1)), 22);
	assert_int_equal(json_integer_value(json_array_get(json_array_get(matrix, 1), 0)), 21);
	json_decref(p);
	hwloc_distances_remove(machine->topology);
}

/* The class of a synthetic machine with the server's files, some replaced by `files`. */
static char *class_of(const char *description, const struct file *files)
{
	const char *why = "";
	struct machine *m = machine_open(description, &why);
	json_t *p;
	char *class;

	assert_non_null(m);
	put_files(intel);
	if (files)
		put_files(files);
	p = provenance_machine_at(root, m);
	class = strdup(text_at(p, "class"));
	assert_int_equal(strspn(class, "0123456789abcdef"), 16);
	assert_int_equal(strlen(class), 16);
	json_decref(p);
	machine_close(m);
	return class;
}

static void expect_class(const char *class, bool same, const char *description,
			 const struct file *files)
{
	char *other = class_of(description, files);

	if (same != !strcmp(class, other))
		fail_msg("%s is %sof the class of the server", description, same ? "not " : "");
	free(other);
}

/* The server, with `mib` MiB of memory on each of its two nodes. */
#define SERVER(mib) \
	"pack:2 [numa(memory=" mib "MiB)] l3:1(size=33554432) l2:4(size=1048576) core:1 pu:2"

static void a_class_is_what_equal_machines_share(void **state)
{
	static const struct file what_changes[] = {
		{ "/proc/meminfo", "MemTotal: 263750000 kB\nMemFree: 1 kB\n" },
		{ "/proc/sys/kernel/osrelease", "6.1.0\n" },
		{ "/proc/cmdline", "quiet\n" },
		{ "/proc/sys/kernel/hostname", "other\n" },
		{ "/proc/sys/kernel/numa_balancing", "0\n" },
		{ CPUS "/cpu0/cpufreq/scaling_governor", "performance\n" },
		{ CPUS "/intel_pstate/no_turbo", "1\n" },
		{ DMI "/bios_version", "1.9.0\n" },
		{ "/sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages", "0\n" },
		{ 0 },
	};
	static const struct file newer_microcode[] = {
		{ "/proc/cpuinfo",
		  "processor\t: 0\nvendor_id\t: GenuineIntel\ncpu family\t: 6\nmodel\t\t: 106\n"
		  "model name\t: Intel(R) Xeon(R) Platinum 8360Y CPU @ 2.40GHz\nstepping\t: 6\n"
		  "microcode\t: 0xd0003d1\nflags\t\t: fpu vme\n" },
		{ 0 },
	};
	static const struct file other_stepping[] = {
		{ "/proc/cpuinfo",
		  "processor\t: 0\nvendor_id\t: GenuineIntel\ncpu family\t: 6\nmodel\t\t: 106\n"
		  "model name\t: Intel(R) Xeon(R) Platinum 8360Y CPU @ 2.40GHz\nstepping\t: 5\n" },
		{ 0 },
	};
	static const struct file another_huge_page[] = {
		{ "/sys/kernel/mm/hugepages/hugepages-1048576kB/nr_hugepages", "0\n" },
		{ 0 },
	};
	char *class = class_of(SERVER("128700"), NULL);

	(void)state;
	expect_class(class, true, SERVER("128700"), NULL);
	expect_class(class, true, SERVER("128700"), what_changes);
	expect_class(class, true, SERVER("128700"), newer_microcode);
	expect_class(class, true, SERVER("128690"), NULL);  /* firmware reserves more */
	expect_class(class, true, SERVER("131072"), NULL);  /* nothing is reserved: 128 GiB */
	expect_class(class, false, SERVER("114688"), NULL); /* 112 GiB: one module fewer */
	expect_class(class, false, SERVER("139264"), NULL); /* 136 GiB */
	expect_class(class, false, SERVER("128700"), other_stepping);
	expect_class(class, false,
		     "pack:2 [numa(memory=128700MiB)] l3:1(size=33554432) l2:4(size=2097152) "
		     "core:1 pu:2",
		     NULL);
	expect_class(class, false,
		     "pack:2 [numa(memory=128700MiB)] l3:1(size=33554432) l2:4(size=1048576) "
		     "core:1 pu:1",
		     NULL);
	expect_class(class, false,
		     "pack:2 [numa(memory=128700MiB)] l3:2(size=16777216) l2:2(size=1048576) "
		     "core:1 pu:2",
		     NULL);
	expect_class(class, false, SERVER("128700"), another_huge_page);
	free(class);
}

/*
 * The class of a machine with one node that has `kib` kB in all, of which the kernel has placed
 * `placed` MiB so far.
 */
static char *class_of_one_node(uint64_t placed, const char *kib)
{
	const char *why = "";
	struct machine *m = machine_open("numa:1 core:4 pu:2", &why);
	char text[64], *class;
	json_t *p;

	assert_non_null(m);
	m->running = true;
	hwloc_get_obj_by_type(m->topology, HWLOC_OBJ_NUMANODE, 0)->attr->numanode.local_memory =
		placed << 20;
	put_files(intel);
	snprintf(text, sizeof(text), "MemTotal: %s kB\nMemFree: 1 kB\n", kib);
	put_file("/proc/meminfo", text);
	p = provenance_machine_at(root, m);
	class = strdup(text_at(p, "class"));
	json_decref(p);
	machine_close(m);
	return class;
}

static void a_class_is_stable_while_the_node_of_a_guest_grows(void **state)
{
	char *class = class_of_one_node(4403, "132120576"),
	     *later = class_of_one_node(13926, "132120576"),
	     *half = class_of_one_node(4403, "66060288");

	(void)state;
	assert_string_equal(class, later);
	assert_string_not_equal(class, half);
	free(class);
	free(later);
	free(half);
}

static char *id_with(const struct file *files)
{
	json_t *p = provenance_of(files), *id = at(p, "id");
	char *text = json_is_string(id) ? strdup(json_string_value(id)) : NULL;

	if (text)
		assert_int_equal(strncmp(text, "fnv1a64:", 8), 0);
	json_decref(p);
	return text;
}

#define ETC   "/etc/machine-id"
#define UUID  DMI "/product_uuid"
#define FIRST "3d1219c7c4c5404aaa1f6d2a48adfda4"
#define OTHER "0f0e2ad1-77c1-4d4e-9e5b-0123456789ab"

/* The record has a hash of the permanent id, not the id itself. */
static void a_machine_has_an_id(void **state)
{
	static const struct file none[] = { { ETC, "uninitialized\n" },
					    { UUID, "00000000-0000-0000-0000-000000000000\n" },
					    { 0 } },
				 short_one[] = { { ETC, "3d12\n" }, { 0 } },
				 first[] = { { ETC, FIRST "\n" }, { UUID, OTHER "\n" }, { 0 } },
				 renamed[] = { { "/proc/sys/kernel/hostname", "b\n" }, { 0 } },
				 passing[] = { { "/run/machine-id", FIRST "\n" }, { 0 } },
				 no_uuid[] = { { UUID, "Not Settable\n" }, { 0 } };
	char *id, *again, *uuid;

	(void)state;
	assert_null(id_with(none));
	assert_null(id_with(short_one));
	id = id_with(first);
	again = id_with(renamed);
	uuid = id_with(passing);
	assert_non_null(id);
	assert_string_equal(id, again);
	assert_null(strstr(id, "3d1219"));
	assert_non_null(uuid);
	assert_string_not_equal(id, uuid);
	assert_null(id_with(no_uuid));
	free(id);
	free(again);
	free(uuid);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(distances_follow_the_nodes),
		TEST(a_class_is_what_equal_machines_share),
		TEST(a_class_is_stable_while_the_node_of_a_guest_grows),
		TEST(kinds_of_cores),
		TEST(a_machine_has_an_id),
	};

	return cmocka_run_group_tests(tests, open_server, close_machine);
}
