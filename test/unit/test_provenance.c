/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The machine in the record's header, read from a folder with files of real machines. Each null
 * must have a reason.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "machine/provenance/provenance.h"
#include "machine/topology/topology.h"
#include "base/sysfs.h"
#include "changed.h"
#include "tree.h"

#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))
#define CPUS	      "/sys/devices/system/cpu"
#define DMI	      "/sys/class/dmi/id"

/* A server with two packages of Ice Lake. */
static const struct file intel[] = {
	{ "/proc/cpuinfo",
	  "processor\t: 0\nvendor_id\t: GenuineIntel\ncpu family\t: 6\nmodel\t\t: 106\n"
	  "model name\t: Intel(R) Xeon(R) Platinum 8360Y CPU @ 2.40GHz\nstepping\t: "
	  "6\nmicrocode\t: "
	  "0xd0003b9\ncpu MHz\t\t: 2400.000\n"
	  "flags\t\t: fpu vme sse2 avx2 avx512f\nbugs\t\t: spectre_v1\n\nprocessor\t: 1\nmodel "
	  "name\t: Other\n" },
	{ "/proc/meminfo", "MemTotal:       263757000 kB\nMemFree:        250000000 "
			   "kB\nMemAvailable:   251000000 kB\n" },
	{ "/proc/cmdline",
	  "BOOT_IMAGE=/vmlinuz root=UUID=1 quiet grub_password=hush isolcpus=2-3\n" },
	{ "/proc/sys/kernel/osrelease", "5.14.0-427.el9.x86_64\n" },
	{ "/proc/sys/kernel/version", "#1 SMP PREEMPT_DYNAMIC Thu\n" },
	{ "/proc/sys/kernel/numa_balancing", "1\n" },
	{ "/proc/sys/kernel/perf_event_paranoid", "-1\n" },
	{ "/proc/sys/vm/overcommit_memory", "0\n" },
	{ "/proc/sys/vm/swappiness", "60\n" },
	{ "/proc/sys/vm/zone_reclaim_mode", "0\n" },
	{ "/sys/kernel/mm/transparent_hugepage/enabled", "[always] madvise never\n" },
	{ "/sys/kernel/mm/transparent_hugepage/defrag",
	  "always defer defer+madvise [madvise] never\n" },
	{ "/sys/kernel/mm/transparent_hugepage/khugepaged/defrag", "1\n" },
	{ "/sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages", "512\n" },
	{ "/sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages", "500\n" },
	{ CPUS "/online", "0-15\n" },
	{ CPUS "/intel_pstate/no_turbo", "0\n" },
	{ CPUS "/cpu0/cpufreq/scaling_driver", "intel_pstate\n" },
	{ CPUS "/cpu0/cpufreq/scaling_governor", "powersave\n" },
	{ CPUS "/cpu1/cpufreq/scaling_governor", "performance\n" },
	{ CPUS "/cpu0/cpufreq/scaling_min_freq", "800000\n" },
	{ CPUS "/cpu0/cpufreq/scaling_max_freq", "3500000\n" },
	{ CPUS "/cpu0/cpufreq/base_frequency", "2400000\n" },
	{ CPUS "/vulnerabilities/meltdown", "Not affected\n" },
	{ CPUS "/vulnerabilities/spectre_v2", "Mitigation: Enhanced IBRS\n" },
	{ DMI "/sys_vendor", "Dell Inc.\n" },
	{ DMI "/product_name", "PowerEdge C6520\n" },
	{ DMI "/product_serial", "SECRET7\n" },
	{ DMI "/bios_version", "1.8.2\n" },
	{ 0 },
};

static const struct file amd_guest[] = {
	{ "/proc/cpuinfo", "processor\t: 0\nvendor_id\t: AuthenticAMD\ncpu family\t: "
			   "25\nmodel\t\t: 17\nmodel name\t: AMD EPYC 9354 32-Core "
			   "Processor\n"
			   "stepping\t: 1\nmicrocode\t: 0xa101148\nflags\t\t: fpu sse2 hypervisor "
			   "avx2\npower management: ts ttp tm\n" },
	{ CPUS "/cpufreq/boost", "1\n" },
	{ CPUS "/cpu0/acpi_cppc/nominal_freq", "3250\n" },
	{ DMI "/sys_vendor", "QEMU\n" },
	{ DMI "/product_name", "Standard PC (Q35 + ICH9, 2009)\n" },
	{ 0 },
};

#define ARM_CPUINFO(implementer, variant, part, revision)                              \
	"processor\t: 0\nBogoMIPS\t: 50.00\nFeatures\t: fp asimd atomics\nCPU "        \
	"implementer\t: " implementer "\nCPU architecture: 8\nCPU variant\t: " variant \
	"\nCPU part\t: " part "\nCPU revision\t: " revision "\n\n"

/* Ampere Altra: vendor and part from /proc/cpuinfo, as it has no midr_el1. */
static const struct file altra[] = {
	{ "/proc/cpuinfo", ARM_CPUINFO("0x41", "0x3", "0xd0c", "1") },
	{ DMI "/sys_vendor", "GIGABYTE\n" },
	{ 0 },
};
static const struct file graviton[] = {
	{ "/proc/cpuinfo", ARM_CPUINFO("0x41", "0x1", "0xd40", "1") },
	{ CPUS "/cpu0/regs/identification/midr_el1", "0x00000000411fd401\n" },
	{ DMI "/sys_vendor", "Amazon EC2\n" },
	{ DMI "/product_name", "c7g.4xlarge\n" },
	{ 0 },
};

static struct machine *machine;

static int open_server(void **state)
{
	const char *why = "";

	machine = machine_open("package:2 [numa] l3:1(size=33554432) l2:4(size=1048576) "
			       "l1d:1(size=49152) core:1 pu:2",
			       &why);
	if (!machine) {
		puts(why);
		return -1;
	}
	machine->running = true; /* so that files are read, from the test's folder */
	(void)state;
	return 0;
}

static int close_machine(void **state)
{
	(void)state;
	machine_close(machine);
	return 0;
}

/* The member of an object at a path like "cpu.model". */
static json_t *at(json_t *object, const char *path)
{
	char copy[128], *rest = copy, *key;

	snprintf(copy, sizeof(copy), "%s", path);
	while (object && (key = strsep(&rest, ".")))
		object = json_object_get(object, key);
	return object;
}

static const char *text_at(json_t *object, const char *path)
{
	const char *text = json_string_value(at(object, path));

	return text ? text : "(no text)";
}

static json_int_t integer_at(json_t *object, const char *path)
{
	json_t *value = at(object, path);

	assert_true(json_is_integer(value));
	return json_integer_value(value);
}

/*
 * Fails unless every null, at any depth, has a reason; returns the number of nulls. `virtual` needs
 * none: null may mean "not a virtual machine".
 */
static unsigned nulls_say_why(json_t *value)
{
	unsigned nulls = 0;
	const char *key;
	json_t *part;
	size_t i;

	json_array_foreach(value, i, part) nulls += nulls_say_why(part);
	json_object_foreach(value, key, part)
	{
		char why[128];

		nulls += nulls_say_why(part);
		if (!json_is_null(part))
			continue;
		nulls++;
		snprintf(why, sizeof(why), "%s_why", key);
		if (strcmp(key, "virtual") && !json_string_length(json_object_get(value, why)))
			fail_msg("%s is null, and nothing says why", key);
	}
	return nulls;
}

static json_t *provenance_of(const struct file *files)
{
	json_t *p;

	if (files)
		put_files(files);
	p = provenance_machine_at(root, machine);
	assert_non_null(p);
	nulls_say_why(p);
	return p;
}

static void intel_server(void **state)
{
	json_t *p = provenance_of(intel);
	char *text;

	(void)state;
	assert_string_equal(text_at(p, "cpu.vendor"), "GenuineIntel");
	assert_string_equal(text_at(p, "cpu.model"),
			    "Intel(R) Xeon(R) Platinum 8360Y CPU @ 2.40GHz");
	assert_int_equal(integer_at(p, "cpu.family"), 6);
	assert_int_equal(integer_at(p, "cpu.model_number"), 106);
	assert_int_equal(integer_at(p, "cpu.stepping"), 6);
	assert_string_equal(text_at(p, "cpu.microcode"), "0xd0003b9");
	assert_int_equal(json_array_size(at(p, "cpu.flags")), 5);
	assert_string_equal(json_string_value(json_array_get(at(p, "cpu.flags"), 4)), "avx512f");
	assert_true(json_is_null(at(p, "virtual")));
	assert_null(at(p, "virtual_why"));
	assert_string_equal(text_at(p, "kernel.release"), "5.14.0-427.el9.x86_64");
	assert_string_equal(
		text_at(p, "kernel.command_line"),
		"BOOT_IMAGE=/vmlinuz root=UUID=1 quiet grub_password=<hidden> isolcpus=2-3");
	assert_int_equal(integer_at(p, "numa_balancing"), 1);
	assert_int_equal(integer_at(p, "perf_event_paranoid"), -1);
	assert_int_equal(integer_at(p, "memory.total"), INT64_C(263757000) * 1024);
	assert_int_equal(integer_at(p, "memory.available"), INT64_C(251000000) * 1024);
	assert_string_equal(text_at(p, "memory.thp.enabled"), "always");
	assert_string_equal(text_at(p, "memory.thp.defrag"), "madvise");
	assert_int_equal(integer_at(p, "memory.thp.khugepaged_defrag"), 1);
	assert_int_equal(integer_at(json_array_get(at(p, "memory.hugepages"), 0), "total"), 512);
	assert_int_equal(integer_at(json_array_get(at(p, "memory.hugepages"), 0), "free"), 500);
	assert_int_equal(
		json_array_size(at(json_array_get(at(p, "memory.hugepages"), 0), "per_node")), 2);
	assert_string_equal(text_at(p, "frequency.driver"), "intel_pstate");
	assert_string_equal(text_at(p, "frequency.governor"), "powersave,performance");
	assert_int_equal(integer_at(p, "frequency.minimum"), 800000000);
	assert_true(integer_at(p, "frequency.maximum") == INT64_C(3500000000));
	assert_true(integer_at(p, "frequency.base") == INT64_C(2400000000));
	assert_true(json_is_true(at(p, "frequency.turbo")));
	assert_string_equal(text_at(p, "frequency.boost_source"), CPUS "/intel_pstate/no_turbo");
	assert_int_equal(json_object_size(at(p, "mitigations")), 2);
	assert_string_equal(text_at(p, "mitigations.spectre_v2"), "Mitigation: Enhanced IBRS");
	assert_true(json_is_null(at(p, "cgroup.version")));
	assert_non_null(strstr(text_at(p, "libc"), "glibc 2."));
	assert_string_equal(text_at(p, "firmware.bios_version"), "1.8.2");
	assert_string_equal(text_at(p, "firmware.product_name"), "PowerEdge C6520");
	assert_non_null(strstr(text_at(p, "firmware.bios_date_why"), "No such file"));
	assert_non_null(strstr(text_at(p, "memory.modules_why"), "No such file"));
	assert_non_null(strstr(text_at(p, "prefetchers_why"), "/dev/cpu/0/msr: No such file"));
	text = json_dumps(p, 0);
	assert_null(strstr(text, "SECRET7"));
	free(text);
	json_decref(p);
}

static void amd_guest_of_qemu(void **state)
{
	json_t *p = provenance_of(amd_guest);

	(void)state;
	assert_string_equal(text_at(p, "cpu.vendor"), "AuthenticAMD");
	assert_int_equal(integer_at(p, "cpu.family"), 25);
	assert_string_equal(text_at(p, "virtual"), "qemu");
	assert_true(integer_at(p, "frequency.base") == INT64_C(3250000000));
	assert_null(at(p, "frequency.base_why"));
	assert_true(json_is_true(at(p, "frequency.turbo")));
	assert_true(json_is_null(at(p, "frequency.governor")));
	json_decref(p);
}

static void arm_cores_have_names(void **state)
{
	json_t *p = provenance_of(altra);

	(void)state;
	assert_string_equal(text_at(p, "cpu.vendor"), "ARM");
	assert_string_equal(text_at(p, "cpu.model"), "Neoverse N1");
	assert_int_equal(integer_at(p, "cpu.model_number"), 0xd0c);
	assert_string_equal(text_at(p, "cpu.stepping"), "r3p1");
	assert_true(json_is_null(at(p, "cpu.family")));
	assert_true(json_is_null(at(p, "cpu.microcode")));
	assert_int_equal(json_array_size(at(p, "cpu.flags")), 3);
	assert_true(json_is_null(at(p, "virtual")));
	assert_null(at(p, "virtual_why"));
	json_decref(p);

	p = provenance_of(graviton);
	assert_string_equal(text_at(p, "cpu.model"), "Neoverse V1");
	assert_string_equal(text_at(p, "cpu.stepping"), "r1p1");
	assert_string_equal(text_at(p, "virtual"), "kvm");
	json_decref(p);

	put_file(DMI "/product_name", "c7g.metal\n");
	put_file(CPUS "/cpu0/regs/identification/midr_el1", "0x00000000770f0000\n");
	p = provenance_of(NULL);
	assert_true(json_is_null(at(p, "virtual")));
	assert_true(json_is_null(at(p, "cpu.vendor")));
	assert_non_null(strstr(text_at(p, "cpu.model_why"), "implementer 0x77"));
	json_decref(p);
}

static void hypervisors_are_told_apart(void **state)
{
	static const struct {
		const char *flags, *vendor, *product, *found;
		bool known;
	} rows[] = {
		{ "fpu hypervisor", "Xen", "HVM domU", "xen", true },
		{ "fpu hypervisor", "Microsoft Corporation", "Virtual Machine", "hyperv", true },
		{ "fpu hypervisor", "VMware, Inc.", "VMware7,1", "vmware", true },
		{ "fpu hypervisor", "innotek GmbH", "VirtualBox", "virtualbox", true },
		{ "fpu hypervisor", "Nobody", "Nothing", "unknown", true },
		{ "fpu hypervisor", NULL, NULL, "unknown", true },
		{ "fpu hypervisors_friend", "Nobody", "Nothing", NULL, true },
		{ "fpu", "Dell Inc.", "PowerEdge", NULL, true },
		{ "fpu", NULL, NULL, NULL, true },
		{ "fpu", "Red Hat", "KVM", NULL, true }, /* a guest's flags have "hypervisor" */
		{ "fpu", "Xen", "PV domU", "xen", true },
		{ NULL, "Ampere", "Mt. Jade", NULL, true },
		{ NULL, NULL, NULL, NULL, false },
	};

	(void)state;
	for (unsigned i = 0; i < LENGTH(rows); i++) {
		const char *found;
		char text[128];
		bool known;

		snprintf(text, sizeof(text),
			 rows[i].flags ? "flags\t\t: %s avx\n" : "processor\t: 0\n", rows[i].flags);
		put_file("/proc/cpuinfo", text);
		put_file(DMI "/sys_vendor", rows[i].vendor ? rows[i].vendor : "");
		put_file(DMI "/product_name", rows[i].product ? rows[i].product : "");
		found = provenance_hypervisor(root, &known);
		assert_string_equal(found ? found : "none", rows[i].found ? rows[i].found : "none");
		assert_int_equal(known, rows[i].known);
	}
}

static void the_topology_is_told(void **state)
{
	static const struct file files[] = {
		{ CPUS "/online", "0-15\n" },
		{ "/sys/devices/system/node/online", "0-1\n" },
		{ "/sys/devices/system/node/node0/cpulist", "0-7\n" },
		{ "/sys/devices/system/node/node1/cpulist", "\n" },
		{ "/sys/devices/system/node/node0/meminfo",
		  "Node 0 MemTotal: 1048576 kB\nNode 0 MemFree: 524288 kB\n" },
		{ 0 },
	};
	json_t *p = provenance_of(files), *t = at(p, "topology"), *nodes = at(t, "nodes"),
	       *caches = at(t, "caches");

	(void)state;
	assert_int_equal(integer_at(t, "packages"), 2);
	assert_int_equal(integer_at(t, "cores"), 8);
	assert_int_equal(integer_at(t, "cpus"), 16);
	assert_int_equal(integer_at(t, "smt"), 2);
	assert_string_equal(text_at(t, "online"), "0-15");
	assert_string_equal(text_at(t, "allowed"), "0-15");
	assert_int_equal(json_array_size(nodes), 2);
	assert_int_equal(integer_at(json_array_get(nodes, 0), "free"), 524288 * 1024);
	assert_true(json_is_false(at(json_array_get(nodes, 0), "memory_only")));
	assert_true(json_is_null(at(json_array_get(nodes, 1), "free")));
	assert_true(json_is_true(at(json_array_get(nodes, 1), "memory_only")));
	assert_int_equal(json_array_size(at(json_array_get(nodes, 0), "cpus")), 8);
	assert_int_equal(json_array_size(caches), 3);
	assert_int_equal(integer_at(json_array_get(caches, 0), "level"), 1);
	assert_string_equal(text_at(json_array_get(caches, 0), "type"), "data");
	assert_int_equal(integer_at(json_array_get(caches, 0), "size"), 48 << 10);
	assert_int_equal(integer_at(json_array_get(caches, 0), "count"), 8);
	assert_int_equal(integer_at(json_array_get(caches, 0), "shared_by"), 2);
	assert_int_equal(integer_at(json_array_get(caches, 2), "size"), 32 << 20);
	assert_int_equal(integer_at(json_array_get(caches, 2), "shared_by"), 8);
	assert_non_null(strstr(text_at(t, "hwloc"), "L3"));
	assert_int_equal(json_array_size(at(p, "tlb")), 0);
	assert_string_equal(text_at(p, "tlb_why"), "not this machine");
	json_decref(p);
}

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

/* Fast and slow cores are told, and are part of the class, but their frequencies are not. */
static void kinds_of_cores(void **state)
{
	static const struct {
		void (*change)(hwloc_topology_t);
		bool same; /* as slow_first; others as a machine without kinds */
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
	/* hwloc's matrix has node 1 first; the record's has the order of the nodes */
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

/* The class of a synthetic machine with the server's files, of which `files` replaces some. */
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
	expect_class(class, false, SERVER("114688"), NULL); /* 112 GiB: a module less */
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
 * The class of a machine with one node, to which the kernel gave `placed` MiB until now, and has
 * `kib` kB in all.
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

/* Writes a CPU's msr file, in which the offset is the number of the register. */
static void put_register(int cpu, uint32_t number, uint64_t value)
{
	char path[64];
	FILE *f;

	snprintf(path, sizeof(path), "/dev/cpu/%d/msr", cpu);
	f = fopen(in_tree(path), "w");
	assert_non_null(f);
	assert_int_equal(fseeko(f, number, SEEK_SET), 0);
	assert_int_equal(fwrite(&value, sizeof(value), 1, f), 1);
	assert_int_equal(fclose(f), 0);
}

static void prefetchers_are_told_where_they_can_be_read(void **state)
{
	static const struct file amd[] = {
		{ "/proc/cpuinfo", "vendor_id\t: AuthenticAMD\nflags\t\t: fpu\n" }, { 0 }
	};
	static const struct file arm[] = {
		{ "/proc/cpuinfo", ARM_CPUINFO("0x41", "0x3", "0xd0c", "1") }, { 0 }
	};
	json_t *p;

	(void)state;
	for (int i = 0; i < 16; i++)
		put_register(i, 0x1a4, 5);
	p = provenance_of(intel);
	assert_string_equal(text_at(p, "prefetchers.register"), "0x1a4");
	assert_string_equal(text_at(p, "prefetchers.value"), "0x5");
	assert_int_equal(json_array_size(at(p, "prefetchers.disabled")), 2);
	assert_string_equal(json_string_value(json_array_get(at(p, "prefetchers.disabled"), 1)),
			    "L1 next line");
	json_decref(p);

	put_register(3, 0x1a4, 0);
	p = provenance_of(NULL);
	assert_string_equal(text_at(p, "prefetchers_why"),
			    "register 0x1a4: CPU 0 has 0x5, CPU 3 has 0x0");
	json_decref(p);

	put_file("/dev/cpu/0/msr", "short");
	p = provenance_of(NULL);
	assert_non_null(strstr(text_at(p, "prefetchers_why"), "/dev/cpu/0/msr: No data"));
	json_decref(p);

	for (int i = 0; i < 16; i++)
		put_register(i, 0xc0000108, 0);
	p = provenance_of(amd);
	assert_string_equal(text_at(p, "prefetchers.value"), "0x0");
	assert_int_equal(json_array_size(at(p, "prefetchers.disabled")), 0);
	json_decref(p);

	p = provenance_of(arm);
	assert_non_null(strstr(text_at(p, "prefetchers_why"), "no register is known"));
	json_decref(p);

	p = provenance_of(amd_guest);
	assert_non_null(strstr(text_at(p, "prefetchers_why"), "virtual machine"));
	json_decref(p);
}

static void nothing_to_read_is_said(void **state)
{
	json_t *p = provenance_of(NULL);

	(void)state;
	assert_true(nulls_say_why(p) > 30);
	assert_non_null(strstr(text_at(p, "kernel.release_why"),
			       "/proc/sys/kernel/osrelease: No such file"));
	assert_non_null(strstr(text_at(p, "mitigations_why"), "No such file"));
	assert_non_null(strstr(text_at(p, "virtual_why"), "neither"));
	json_decref(p);
}

/* Not the errno of another file that was tried before. */
static void the_reason_is_its_own(void **state)
{
	static const struct file files[] = {
		{ "/sys/devices/system/cpu/vulnerabilities", "not a folder" },
		{ 0 },
	};
	json_t *p = provenance_of(files);

	(void)state;
	assert_non_null(strstr(text_at(p, "mitigations_why"), "Not a directory"));
	json_decref(p);
}

static void this_machine_is_described(void **state)
{
	const char *why;
	struct machine *here = machine_open(NULL, &why);
	json_t *p;

	(void)state;
	assert_non_null(here);
	p = provenance_machine(here);
	nulls_say_why(p);
	assert_true(integer_at(p, "memory.total") > 0);
	assert_true(integer_at(p, "topology.cpus") > 0);
	assert_true(json_string_length(at(p, "kernel.release")) > 0);
	assert_true(json_is_array(at(p, "tlb")));
	assert_true((json_array_size(at(p, "tlb")) > 0) == (at(p, "tlb_why") == NULL));
	json_decref(p);
	machine_close(here);
}

static void the_environment_keeps_secrets(void **state)
{
	json_t *e;

	(void)state;
	setenv("OMP_PLACES", "cores", 1);
	setenv("SLURM_JWT", "hush", 1);
	setenv("SLURM_SACK_KEY", "hush", 1);
	setenv("LD_PRELOAD_NOT", "no", 1);
	setenv("XOMP_PLACES", "no", 1);
	setenv("LOCUS_TEST", "\xff", 1);
	setenv("MALLOC_ARENA_MAX", "", 1);
	e = provenance_environment();
	assert_string_equal(text_at(e, "OMP_PLACES"), "cores");
	assert_string_equal(text_at(e, "MALLOC_ARENA_MAX"), "");
	assert_true(json_is_null(at(e, "SLURM_JWT")));
	assert_true(json_is_null(at(e, "SLURM_SACK_KEY")));
	assert_string_equal(text_at(e, "LOCUS_TEST"), "\\xff");
	assert_null(at(e, "LD_PRELOAD_NOT"));
	assert_null(at(e, "XOMP_PLACES"));
	assert_null(at(e, "PATH"));
	nulls_say_why(e);
	json_decref(e);
	unsetenv("SLURM_JWT");
	unsetenv("SLURM_SACK_KEY");
	unsetenv("LOCUS_TEST");
}

static void jobs_are_known(void **state)
{
	static const char *const variables[] = { "SLURM_JOB_ID",	"SLURM_ARRAY_TASK_ID",
						 "SLURM_STEP_ID",	"SLURM_RESTART_COUNT",
						 "SLURM_JOB_NUM_NODES", "PBS_JOBID",
						 "SLURM_CLUSTER_NAME",	"SLURM_JOB_PARTITION",
						 "PBS_ARRAY_INDEX",	"LSB_JOBID" };
	json_t *job;

	(void)state;
	for (unsigned i = 0; i < LENGTH(variables); i++)
		unsetenv(variables[i]);
	job = provenance_job();
	assert_true(json_is_null(job));
	json_decref(job);

	setenv("PBS_JOBID", "12.server", 1);
	job = provenance_job();
	assert_string_equal(text_at(job, "system"), "pbs");
	assert_string_equal(text_at(job, "id"), "12.server");
	assert_true(json_is_null(at(job, "step")));
	json_decref(job);

	setenv("SLURM_JOB_ID", "77", 1);
	setenv("SLURM_ARRAY_TASK_ID", "3", 1);
	setenv("SLURM_JOB_NUM_NODES", "2", 1);
	setenv("SLURM_CLUSTER_NAME", "alps", 1);
	setenv("SLURM_JOB_PARTITION", "gpu,cpu", 1);
	job = provenance_job();
	assert_string_equal(text_at(job, "system"), "slurm");
	assert_string_equal(text_at(job, "id"), "77");
	assert_string_equal(text_at(job, "array_task"), "3");
	assert_string_equal(text_at(job, "nodes"), "2");
	assert_string_equal(text_at(job, "cluster"), "alps");
	assert_string_equal(text_at(job, "partition"), "gpu,cpu");
	assert_true(json_is_null(at(job, "restart")));
	json_decref(job);
	unsetenv("PBS_JOBID");
	unsetenv("SLURM_JOB_ID");
	unsetenv("SLURM_CLUSTER_NAME");
	unsetenv("SLURM_JOB_PARTITION");
}

static void the_program_is_described(void **state)
{
	json_t *p = provenance_program();

	(void)state;
	assert_true(json_string_length(at(p, "version")) > 0);
	assert_true(json_string_length(at(p, "compiler")) > 0);
	assert_true(json_string_length(at(p, "flags")) > 0);
	assert_true(json_string_length(at(p, "built_with.hwloc")) > 0);
	assert_true(json_string_length(at(p, "built_with.openmp")) == 6);
	assert_int_equal(strncmp(text_at(p, "checksum"), "build-id:", 9), 0);
	assert_true(json_string_length(at(p, "checksum")) >= 9 + 16);
	assert_int_equal(strspn(text_at(p, "checksum") + 9, "0123456789abcdef"),
			 json_string_length(at(p, "checksum")) - 9);
	nulls_say_why(p);
	json_decref(p);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, tree_make, tree_remove)

int main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(intel_server),
		TEST(amd_guest_of_qemu),
		TEST(arm_cores_have_names),
		TEST(hypervisors_are_told_apart),
		TEST(the_topology_is_told),
		TEST(distances_follow_the_nodes),
		TEST(a_class_is_what_equal_machines_share),
		TEST(a_class_is_stable_while_the_node_of_a_guest_grows),
		TEST(prefetchers_are_told_where_they_can_be_read),
		TEST(nothing_to_read_is_said),
		TEST(the_reason_is_its_own),
		TEST(kinds_of_cores),
		cmocka_unit_test(this_machine_is_described),
		cmocka_unit_test(the_environment_keeps_secrets),
		cmocka_unit_test(jobs_are_known),
		cmocka_unit_test(the_program_is_described),
	};

	return cmocka_run_group_tests(tests, open_server, close_machine);
}
