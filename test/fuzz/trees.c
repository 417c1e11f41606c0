/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Readers of a whole /proc and /sys. The input is a tree of files: for each a line "@PATH", then
 * its contents up to the next such line. Paths outside the table below are ignored. A file is
 * written only if it differs from that of the last input.
 */
#include "fuzz.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../unit/tree.h"
#include "commands/doctor/doctor.h"
#include "machine/limits/cgroup.h"
#include "machine/memory/hugepool.h"
#include "machine/provenance/edac.h"
#include "machine/provenance/hypervisor.h"
#include "machine/limits/limits.h"
#include "machine/topology/node_memory.h"
#include "machine/topology/open.h"
#include "machine/provenance/provenance.h"
#include "machine/topology/topology.h"

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
	EDAC "/mc0/dimm0/dimm_location",
	EDAC "/mc0/dimm0/dimm_mem_type",
	EDAC "/mc0/dimm0/size",
	EDAC "/mc0/dimm3/dimm_location",
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

/* The contents of each file in the tree; NULL: there is no such file. */
static struct held {
	uint8_t *bytes;
	size_t n;
} held[PATHS];

static void end_tree(void)
{
	tree_remove(NULL);
	for (unsigned i = 0; i < PATHS; i++)
		free(held[i].bytes);
}

/* Makes all folders at once, so that results do not depend on earlier inputs. */
static void begin_tree(void)
{
	if (*root)
		return;
	must(!tree_make(NULL));
	atexit(end_tree);
	for (unsigned i = 0; i < PATHS; i++)
		in_tree(paths[i]);
}

static void hold(unsigned i, const uint8_t *bytes, size_t n)
{
	struct held *h = &held[i];

	if (!bytes ? !h->bytes : h->bytes && h->n == n && !memcmp(h->bytes, bytes, n))
		return;
	free(h->bytes);
	*h = (struct held){ 0 };
	if (!bytes) {
		must(!remove(in_tree(paths[i])));
		return;
	}
	*h = (struct held){ malloc(n + 1), n };
	must(h->bytes);
	memcpy(h->bytes, bytes, n);
	put_bytes(paths[i], bytes, n);
}

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
	const uint8_t *const end = data + size;
	struct held found[PATHS] = { 0 };

	begin_tree();
	for (const uint8_t *at = next_file(data, end), *next; at < end; at = next) {
		const uint8_t *line = memchr(at, '\n', (size_t)(end - at));

		next = line ? next_file(line + 1, end) : end;
		for (unsigned i = 0; line && i < PATHS; i++)
			if (strlen(paths[i]) == (size_t)(line - at - 1) &&
			    !memcmp(paths[i], at + 1, strlen(paths[i])))
				found[i] = (struct held){ (uint8_t *)line + 1,
							  (size_t)(next - line - 1) };
	}
	for (unsigned i = 0; i < PATHS; i++)
		hold(i, found[i].bytes, found[i].n);
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
	memory_limit_read(root, &l);
	must(*l.what);
	cgroup_read(root, &c);
	must(c.cpu_quota >= 0 && c.version >= 0 && c.version <= 2 && !c.version == !c.path);
	cgroup_free(&c);
	if (!node_memory_read(root, 1, &m))
		must(m.spare <= m.free || m.spare == m.available); /* with zone_reclaim_mode */
	must(huge_page_sizes(root, sizes) == 2 && sizes[0] == (size_t)2 << 20 &&
	     sizes[1] == (size_t)1 << 30);
	huge_pages_read(root, sizes[0], ALL_NODES, &p);
	huge_pages_read(root, sizes[0], 1, &p);
}

void fuzz_machine(const uint8_t *data, size_t size)
{
	json_t *p;
	char *text;
	bool known;

	put_tree(data, size);
	p = provenance_machine_at(root, machine());
	text = json_dumps(p, JSON_COMPACT);
	must(text);
	must(!hypervisor_find(root, &known) || known);
	free(text);
	json_decref(p);
}

void fuzz_doctor(const uint8_t *data, size_t size)
{
	int status;

	put_tree(data, size);
	status = doctor_at(root, machine(), nowhere());
	must(status == 0 || status == 1);
}
