/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Readers of a whole /proc and /sys. The input is a tree of files: for each a line "@PATH", then
 * its contents up to the next such line. Paths outside the table below are ignored.
 *
 * What reads the whole tree takes about a millisecond. So libFuzzer's inputs are for a part of it,
 * which a byte before the tree chooses; check-fuzz makes such inputs of the files in corpus/.
 */
#include "fuzz.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "commands/doctor/doctor.h"
#include "machine/limits/limits.h"
#include "machine/memory/huge.h"
#include "machine/provenance/provenance.h"
#include "machine/provenance/modules.h"
#include "machine/topology/topology.h"
#include "memory_tree.h"

#define CPUS   "/sys/devices/system/cpu"
#define NODES  "/sys/devices/system/node"
#define HUGE   "/sys/kernel/mm/hugepages"
#define THP    "/sys/kernel/mm/transparent_hugepage"
#define CLOCK  "/sys/devices/system/clocksource/clocksource0"
#define CGROUP "/sys/fs/cgroup"
#define DMI    "/sys/class/dmi/id"

/*
 * Paths that are read. The only cgroup is "job", which the seeds name: below the root of version 2,
 * and below the memory, cpu and cpuset hierarchies of version 1.
 */
static const char *const paths[] = {
	"/proc/cmdline",
	"/proc/cpuinfo",
	"/proc/loadavg",
	"/proc/meminfo",
	"/proc/self/cgroup",
	"/proc/self/limits",
	"/proc/self/mountinfo",
	"/proc/self/schedstat",
	"/proc/self/status",
	"/proc/sys/kernel/nmi_watchdog",
	"/proc/sys/kernel/numa_balancing",
	"/proc/sys/kernel/osrelease",
	"/proc/sys/kernel/perf_event_paranoid",
	"/proc/sys/kernel/version",
	"/proc/sys/vm/overcommit_memory",
	"/proc/sys/vm/swappiness",
	"/proc/sys/vm/zone_reclaim_mode",
	"/proc/zoneinfo",
	"/proc/device-tree/compatible",
	"/sys/hypervisor/type",
	"/dev/cpu/0/msr",
	"/dev/cpu/1/msr",
	"/sys/firmware/dmi/tables/DMI",
	MODULES_EDAC "/mc0/dimm0/dimm_location",
	MODULES_EDAC "/mc0/dimm0/dimm_mem_type",
	MODULES_EDAC "/mc0/dimm0/size",
	MODULES_EDAC "/mc0/dimm3/dimm_location",
	DMI "/bios_date",
	DMI "/bios_vendor",
	DMI "/bios_version",
	DMI "/board_name",
	DMI "/product_name",
	DMI "/sys_vendor",
	CPUS "/online",
	CPUS "/isolated",
	CPUS "/nohz_full",
	CPUS "/intel_pstate/no_turbo",
	CPUS "/cpufreq/boost",
	CPUS "/cpu0/acpi_cppc/nominal_freq",
	CPUS "/cpu0/cpufreq/base_frequency",
	CPUS "/cpu0/cpufreq/scaling_driver",
	CPUS "/cpu0/cpufreq/scaling_governor",
	CPUS "/cpu1/cpufreq/scaling_governor",
	CPUS "/cpu0/cpufreq/scaling_max_freq",
	CPUS "/cpu0/regs/identification/midr_el1",
	CPUS "/vulnerabilities/meltdown",
	CLOCK "/available_clocksource",
	CLOCK "/current_clocksource",
	NODES "/online",
	NODES "/has_memory",
	NODES "/node0/cpulist",
	NODES "/node0/meminfo",
	NODES "/node1/cpulist",
	NODES "/node1/meminfo",
	NODES "/node1/hugepages/hugepages-2048kB/free_hugepages",
	NODES "/node1/hugepages/hugepages-2048kB/nr_hugepages",
	THP "/enabled",
	THP "/defrag",
	THP "/khugepaged/defrag",
	HUGE "/hugepages-2048kB/free_hugepages",
	HUGE "/hugepages-2048kB/nr_hugepages",
	HUGE "/hugepages-2048kB/nr_overcommit_hugepages",
	HUGE "/hugepages-2048kB/resv_hugepages",
	HUGE "/hugepages-2048kB/surplus_hugepages",
	HUGE "/hugepages-1048576kB/nr_hugepages",
	CGROUP "/cpu.max",
	CGROUP "/cpuset.cpus.effective",
	CGROUP "/memory.max",
	CGROUP "/job/cpu.max",
	CGROUP "/job/cpuset.cpus.effective",
	CGROUP "/job/hugetlb.2MB.current",
	CGROUP "/job/hugetlb.2MB.max",
	CGROUP "/job/memory.current",
	CGROUP "/job/memory.high",
	CGROUP "/job/memory.max",
	CGROUP "/job/memory.stat",
	CGROUP "/cpu/job/cpu.cfs_period_us",
	CGROUP "/cpu/job/cpu.cfs_quota_us",
	CGROUP "/cpuset/job/cpuset.cpus",
	CGROUP "/memory/job/memory.limit_in_bytes",
	CGROUP "/memory/job/memory.stat",
	CGROUP "/memory/job/memory.usage_in_bytes",
	CGROUP "/memory/job/memory.use_hierarchy",
	CGROUP "/memory/memory.limit_in_bytes",
};
enum { PATHS = sizeof(paths) / sizeof(*paths) };

/* The next "@" at the beginning of a line, or the end. */
static const uint8_t *next_file(const uint8_t *at, const uint8_t *end)
{
	for (; at && at < end; at = at ? at + 1 : NULL) {
		if (*at == '@')
			return at;
		at = memchr(at, '\n', (size_t)(end - at));
	}
	return end;
}

static void put_tree(const uint8_t *data, size_t size)
{
	static struct memory_entry tree[PATHS];
	const uint8_t *const end = data + size;

	if (size && *data != '@')
		data++;
	for (unsigned i = 0; i < PATHS; i++)
		tree[i] = (struct memory_entry){ paths[i],
						 tree[i].path ? tree[i].length : strlen(paths[i]) };
	for (const uint8_t *at = next_file(data, end), *next; at < end; at = next) {
		const uint8_t *line = memchr(at, '\n', (size_t)(end - at));

		next = line ? next_file(line + 1, end) : end;
		for (unsigned i = 0; line && i < PATHS; i++)
			if (tree[i].length == (size_t)(line - at - 1) &&
			    !memcmp(paths[i], at + 1, tree[i].length)) {
				tree[i].bytes = line + 1;
				tree[i].n = (size_t)(next - line - 1);
			}
	}
	memory_tree(tree, PATHS);
}

static const struct machine *machine(void)
{
	static struct machine *m;
	const char *error;

	if (!m) {
		m = machine_open("node:2 l2:1(size=1048576) core:1 pu:1", &error);
		must(m);
		m->running = true; /* so that files are read, from the tree */
	}
	return m;
}

void fuzz_limits(const uint8_t *data, size_t size)
{
	size_t sizes[MOST_HUGE_SIZES];
	struct memory_limit l;
	struct huge_pages p;
	struct node_memory m;
	struct cgroup c;

	put_tree(data, size);
	memory_limit_read(MEMORY_ROOT, &l);
	must(*l.what);
	cgroup_read(MEMORY_ROOT, &c);
	must(c.cpu_quota >= 0 && c.version >= 0 && c.version <= 2 && !c.version == !c.path);
	cgroup_free(&c);
	if (!node_memory_read(MEMORY_ROOT, 1, &m))
		must(m.spare <= m.free || m.spare == m.available); /* with zone_reclaim_mode */
	must(huge_page_sizes(MEMORY_ROOT, sizes) == 2 && sizes[0] == (size_t)2 << 20 &&
	     sizes[1] == (size_t)1 << 30);
	huge_pages_read(MEMORY_ROOT, sizes[0], ALL_NODES, &p);
	huge_pages_read(MEMORY_ROOT, sizes[0], 1, &p);
}

/* The part of n that an input is for; n: all. */
static unsigned part_of(const uint8_t *data, size_t size, unsigned n)
{
	return in_parts || (size && *data != '@') ? (size ? *data : 0) % n : n;
}

static json_t *cpu_of(const char *from, const struct machine *m)
{
	json_t *all = json_object(), *cpu = provenance_cpu(from);

	json_object_set_new(all, "class", provenance_class(from, m, cpu, NULL));
	provenance_put_prefetchers(all, from, m, cpu, NULL);
	json_object_set_new(all, "cpu", cpu);
	return all;
}
static json_t *firmware_of(const char *from, const struct machine *m)
{
	return (void)m, provenance_firmware(from);
}
static json_t *kernel_of(const char *from, const struct machine *m)
{
	return (void)m, provenance_kernel(from);
}
static json_t *mitigations_of(const char *from, const struct machine *m)
{
	return (void)m, provenance_mitigations(from);
}

void fuzz_machine(const uint8_t *data, size_t size)
{
	static json_t *(*const parts[])(const char *, const struct machine *) = {
		cpu_of,
		firmware_of,
		kernel_of,
		mitigations_of,
		provenance_frequency,
		provenance_memory,
		provenance_topology,
		provenance_machine_at,
	};
	enum { ALL = sizeof(parts) / sizeof(*parts) - 1 };
	json_t *p;
	char *text;
	bool known;

	put_tree(data, size);
	p = parts[part_of(data, size, ALL)](MEMORY_ROOT, machine());
	text = p ? json_dumps(p, JSON_COMPACT | JSON_ENCODE_ANY) : NULL;
	must(!p || text);
	must(!provenance_hypervisor(MEMORY_ROOT, &known) || known);
	free(text);
	json_decref(p);
}

void fuzz_doctor(const uint8_t *data, size_t size)
{
	static unsigned rows;
	unsigned row;
	int status;

	put_tree(data, size);
	if (!rows)
		while (doctor_row(rows, MEMORY_ROOT, machine(), nowhere()) >= 0)
			rows++;
	row = part_of(data, size, rows);
	status = row < rows ? doctor_row(row, MEMORY_ROOT, machine(), nowhere())
			    : doctor_at(MEMORY_ROOT, machine(), nowhere());
	must(status >= 0 && status < FINDING_STATES && (row < rows || status < 2));
}
