/* SPDX-License-Identifier: Apache-2.0 */
/* The machine part of a record, for machines made of files. */
#ifndef LOCUS_TEST_RECORDS_H
#define LOCUS_TEST_RECORDS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "machine/provenance/provenance.h"
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

static struct machine *machine;

static inline int open_server(void **state)
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

static inline int close_machine(void **state)
{
	(void)state;
	machine_close(machine);
	return 0;
}

/* The member of an object at a path like "cpu.model". */
static inline json_t *at(json_t *object, const char *path)
{
	char copy[128], *rest = copy, *key;

	snprintf(copy, sizeof(copy), "%s", path);
	while (object && (key = strsep(&rest, ".")))
		object = json_object_get(object, key);
	return object;
}

static inline const char *text_at(json_t *object, const char *path)
{
	const char *text = json_string_value(at(object, path));

	return text ? text : "(no text)";
}

static inline json_int_t integer_at(json_t *object, const char *path)
{
	json_t *value = at(object, path);

	assert_true(json_is_integer(value));
	return json_integer_value(value);
}

/*
 * Fails unless every null, at any depth, has a reason; returns the number of nulls. `virtual` needs
 * no reason: null may mean "not a virtual machine".
 */
static inline unsigned nulls_say_why(json_t *value)
{
	unsigned nulls = 0;
	const char *key;
	json_t *part;
	size_t i;

	json_array_foreach(value, i, part)
		nulls += nulls_say_why(part);
	json_object_foreach(value, key, part) {
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

static inline json_t *provenance_of(const struct file *files)
{
	json_t *p;

	if (files)
		put_files(files);
	p = provenance_machine_at(root, machine);
	assert_non_null(p);
	nulls_say_why(p);
	return p;
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, tree_make, tree_remove)

#endif
