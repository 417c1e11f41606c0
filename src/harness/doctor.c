/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "harness/doctor.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <numaif.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "machine/cgroup.h"
#include "machine/clock.h"
#include "count/counters.h"
#include "machine/hugepool.h"
#include "machine/limits.h"
#include "count/likwid.h"
#include "count/papi_names.h"
#include "count/perf_open.h"
#include "machine/provenance.h"
#include "machine/region.h"
#include "base/fields.h"
#include "base/sysfs.h"
#include "base/text.h"
#include "machine/topology.h"

#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))

#define CPUS  "/sys/devices/system/cpu"
#define NODES "/sys/devices/system/node"
#define MM    "/sys/kernel/mm"
#define THP   MM "/transparent_hugepage"
#define HUGE  MM "/hugepages"

#define WATCHED	 0.2 /* s that the load is watched: 20 ticks of /proc/stat */
#define BUSY	 0.1 /* CPUs busy with others' work, from which on it is said: two of these ticks */
#define PATIENCE 2.0 /* s that Python may take to import what the report needs */

enum state { GOOD, WRONG, MISSING, UNKNOWN, STATES };

struct patient {
	const char *root;
	const struct machine *machine;
};

struct finding {
	enum state state;
	char found[256];
	char remedy[512]; /* where it depends on what was found; "": the check's own */
};

static __attribute__((format(printf, 3, 4))) void find(struct finding *f, enum state state,
						       const char *format, ...)
{
	va_list arguments;

	f->state = state;
	va_start(arguments, format);
	vsnprintf(f->found, sizeof(f->found), format, arguments);
	va_end(arguments);
}

/* More of what was found. */
static __attribute__((format(printf, 2, 3))) void add(struct finding *f, const char *format, ...)
{
	size_t used = strlen(f->found);
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(f->found + used, sizeof(f->found) - used, format, arguments);
	va_end(arguments);
}

static __attribute__((format(printf, 2, 3))) void mend(struct finding *f, const char *format, ...)
{
	size_t used = strlen(f->remedy);
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(f->remedy + used, sizeof(f->remedy) - used, format, arguments);
	va_end(arguments);
}

/* ---- clocks and CPUs ---- */

static void look_governor(const struct patient *p, struct finding *f)
{
	unsigned others = 0, known = 0;
	char other[32] = "";

	for (unsigned i = 0; i < p->machine->cpus; i++) {
		char *governor = sysfs_line(p->root, CPUS "/cpu%d/cpufreq/scaling_governor",
					    p->machine->cpu[i].number);

		known += governor != NULL;
		if (governor && strcmp(governor, "performance")) {
			others++;
			snprintf(other, sizeof(other), "%s", governor);
		}
		free(governor);
	}
	if (!known)
		find(f, UNKNOWN, "no cpufreq here: firmware or host decides");
	else if (others)
		find(f, WRONG, "%s on %u of %u CPUs", other, others, known);
	else
		find(f, GOOD, "performance");
}

static void look_turbo(const struct patient *p, struct finding *f)
{
	const char *source;
	int turbo = turbo_read(p->root, &source);

	if (turbo < 0) {
		find(f, UNKNOWN, "nothing here says so: firmware or host decides");
		return;
	}
	find(f, turbo ? WRONG : GOOD, turbo ? "on" : "off");
	mend(f, "echo %d | sudo tee %s", strstr(source, "no_turbo") ? 1 : 0, source);
}

static void look_clock_source(const struct patient *p, struct finding *f)
{
	static const char *const good[] = { "tsc", "arch_sys_counter", "timebase",
					    "riscv_clocksource" };
	char *source = sysfs_line(
		p->root, "/sys/devices/system/clocksource/clocksource0/current_clocksource");
	char *others = sysfs_line(
		p->root, "/sys/devices/system/clocksource/clocksource0/available_clocksource");
	bool fine = false;

	for (unsigned i = 0; source && i < LENGTH(good); i++)
		fine |= !strcmp(source, good[i]);
	find(f,
	     !source ? UNKNOWN
	     : fine  ? GOOD
		     : WRONG,
	     "%s", source ? source : "the kernel does not say");
	if (others && strstr(others, "tsc"))
		mend(f, "echo tsc | sudo tee "
			"/sys/devices/system/clocksource/clocksource0/current_clocksource");
	free(source);
	free(others);
}

static void look_virtual(const struct patient *p, struct finding *f)
{
	bool known;
	const char *hypervisor = hypervisor_find(p->root, &known);

	if (hypervisor)
		find(f, WRONG, "a guest of %s",
		     strcmp(hypervisor, "unknown") ? hypervisor : "an unknown hypervisor");
	else
		find(f, known ? GOOD : UNKNOWN, "%s",
		     known ? "no" : "neither the CPU nor the firmware tells");
}

static void look_smt(const struct patient *p, struct finding *f)
{
	unsigned most = 0;

	for (unsigned i = 0; i < p->machine->cpus; i++)
		if (p->machine->cpu[i].sibling > most)
			most = p->machine->cpu[i].sibling;
	find(f, GOOD,
	     most ? "%u hardware threads a core; by default one of them is used"
		  : "one hardware thread a core",
	     most + 1);
}

/* Plugged in, and off line: by the switch for all siblings, or one by one. */
static void add_offline(const struct patient *p, hwloc_const_bitmap_t online, struct finding *f)
{
	hwloc_bitmap_t offline = sysfs_list(p->root, CPUS "/present");
	char *smt = sysfs_line(p->root, CPUS "/smt/control"), list[120];
	const bool siblings = smt && (!strcmp(smt, "off") || !strcmp(smt, "forceoff"));
	const size_t used = strlen(f->found);
	bool one;

	free(smt);
	if (offline)
		hwloc_bitmap_andnot(offline, offline, online);
	if (!offline || hwloc_bitmap_iszero(offline)) {
		hwloc_bitmap_free(offline);
		return;
	}
	one = hwloc_bitmap_weight(offline) == 1;
	hwloc_bitmap_list_snprintf(list, sizeof(list), offline);
	hwloc_bitmap_free(offline);
	snprintf(f->found + used, sizeof(f->found) - used, "; CPU%s %s %s offline%s",
		 one ? "" : "s", list, one ? "is" : "are", siblings ? " (SMT is off)" : "");
	if (siblings)
		return;
	f->state = MISSING;
	mend(f, "sudo chcpu -e %s", list);
}

static void look_cpus(const struct patient *p, struct finding *f)
{
	hwloc_bitmap_t online = sysfs_list(p->root, CPUS "/online");
	int all = online ? hwloc_bitmap_weight(online) : -1;
	const bool ours = all >= 0 && p->machine->cpus >= (unsigned)all;

	if (all < 0)
		find(f, UNKNOWN, CPUS "/online: %s", strerror(errno));
	else if (ours)
		find(f, GOOD, "all %d CPUs are ours", all);
	else
		find(f, MISSING, "%u of %d CPUs are ours", p->machine->cpus, all);
	if (online)
		add_offline(p, online, f);
	hwloc_bitmap_free(online);
}

/* The nodes that are online, and those of them that have no memory at all: no cpuset took it. */
static int count_nodes(const char *root, int *empty)
{
	hwloc_bitmap_t online = sysfs_list(root, NODES "/online"),
		       with = sysfs_list(root, NODES "/has_memory");
	int all = online ? hwloc_bitmap_weight(online) : -1;

	*empty = 0;
	if (online && with) {
		hwloc_bitmap_andnot(online, online, with);
		*empty = hwloc_bitmap_weight(online);
	}
	hwloc_bitmap_free(online);
	hwloc_bitmap_free(with);
	return all;
}

/* What a memory policy leaves out is for its own line to say. */
static void look_nodes(const struct patient *p, struct finding *f)
{
	const struct machine *m = p->machine;
	int empty, all = count_nodes(p->root, &empty), ours = 0;

	for (unsigned i = 0; i < m->nodes; i++)
		ours += machine_has_memory(m, &m->node[i]) || m->node[i].lack == NOT_IN_POLICY;
	if (all < 0)
		find(f, UNKNOWN, NODES " can't be seen: all is taken for one node");
	else if (ours < all - empty)
		find(f, MISSING, "the memory of %d of %d is ours", ours, all - empty);
	else
		find(f, GOOD, "%d", all);
	for (unsigned i = 0; i < m->nodes; i++) {
		const struct node *n = &m->node[i];

		if (!n->cpus || n->lack != NO_MEMORY || machine_has_memory(m, n))
			continue;
		if (f->state == GOOD)
			mend(f, "sudo dmidecode -t memory # tells which slots are empty");
		f->state = MISSING;
		add(f, "; node %d has no memory: what its CPUs touch first lies on node %d",
		    n->number, n->first_touch);
	}
}

static void look_policy(const struct patient *p, struct finding *f)
{
	struct memory_policy policy;

	memory_policy_read(p->root, &policy);
	if (!*policy.text)
		find(f, UNKNOWN, "/proc/self/numa_maps can't be read");
	else if (policy.kind == BOUND)
		find(f, MISSING, "%.100s: memory of these nodes only", policy.text);
	else if (policy.kind == STEERED)
		find(f, WRONG,
		     "%.100s: pages lie there, and not with the threads that touch them first",
		     policy.text);
	else
		find(f, GOOD, "%.100s: pages lie with the threads that touch them first",
		     policy.text);
}

static void look_quota(const struct patient *p, struct finding *f)
{
	struct cgroup c;

	cgroup_read(p->root, &c);
	if (isfinite(c.cpu_quota))
		find(f, WRONG, "%.3g CPUs", c.cpu_quota);
	else
		find(f, GOOD, c.version ? "none" : "none that can be seen");
	cgroup_free(&c);
}

static void look_isolated(const struct patient *p, struct finding *f)
{
	char *isolated = sysfs_line(p->root, CPUS "/isolated"),
	     *tickless = sysfs_line(p->root, CPUS "/nohz_full");
	bool none = !tickless || strstr(tickless, "null"); /* some kernels print "(null)" */

	find(f, sysfs_hidden(p->root, CPUS) ? UNKNOWN : GOOD,
	     "isolated: %.80s; without tick (nohz_full): %.80s", isolated ? isolated : "none",
	     none ? "none" : tickless);
	free(isolated);
	free(tickless);
}

static void look_load(const struct patient *p, struct finding *f)
{
	const struct timespec pause = { 0, WATCHED * 1e9 };
	struct cpu_time before, after;
	int *cpus = calloc(p->machine->cpus + 1, sizeof(*cpus));
	unsigned n = p->machine->cpus;
	double begin = clock_now(), busy, steal;
	char *average = sysfs_line(p->root, "/proc/loadavg");

	for (unsigned i = 0; cpus && i < n; i++)
		cpus[i] = p->machine->cpu[i].number;
	if (!cpus || cpu_time_read(cpus, n, &before)) {
		find(f, UNKNOWN, "/proc/stat can't be read");
		goto out;
	}
	nanosleep(&pause, NULL);
	if (cpu_time_read(cpus, n, &after)) {
		find(f, UNKNOWN, "/proc/stat can't be read");
		goto out;
	}
	busy = (after.busy - before.busy) / (clock_now() - begin);
	steal = (after.steal - before.steal) / (clock_now() - begin);
	find(f, busy + steal >= BUSY ? WRONG : GOOD,
	     "%.1f of %u CPUs busy, %.1f stolen by the host, while we slept; load average %.*s",
	     busy, n, steal, average ? (int)strcspn(average, " ") : 1, average ? average : "?");
out:
	free(cpus);
	free(average);
}

/* ---- memory ---- */

static void look_memory(const struct patient *p, struct finding *f)
{
	struct {
		int node;
		struct node_memory m;
	} least = { 0 }, fullest = { 0 };
	char available[BYTES_TEXT], total[BYTES_TEXT];
	unsigned known = 0;
	struct node_memory m;

	for (unsigned i = 0; i < p->machine->nodes; i++) {
		const int node = p->machine->node[i].number;

		if (node_memory_read(p->root, node, &m) || !m.total)
			continue;
		if (!known || m.available < least.m.available) {
			least.node = node;
			least.m = m;
		}
		if (!known++ || (double)m.available / (double)m.total <
					(double)fullest.m.available / (double)fullest.m.total) {
			fullest.node = node;
			fullest.m = m;
		}
	}
	if (!known) {
		find(f, UNKNOWN, "neither /proc/meminfo nor the nodes tell");
		return;
	}
	find(f, fullest.m.available < fullest.m.total / 2 ? MISSING : GOOD, "%s of %s available",
	     bytes_text(available, least.m.available), bytes_text(total, least.m.total));
	if (known == 1)
		return;
	add(f, " on node %d, the least of %u nodes", least.node, known);
	if (f->state == MISSING && fullest.node != least.node)
		add(f, "; node %d is the fullest: %s of %s", fullest.node,
		    bytes_text(available, fullest.m.available), bytes_text(total, fullest.m.total));
}

static void look_memory_limit(const struct patient *p, struct finding *f)
{
	char limit[BYTES_TEXT], available[BYTES_TEXT];
	struct memory_limit l;
	struct node_memory m;
	struct cgroup c;

	cgroup_read(p->root, &c);
	memory_limit_read(p->root, &l);
	bytes_text(available, l.available);
	if (node_memory_read(p->root, ALL_NODES, &m))
		m.total = NO_LIMIT;
	if (c.memory_limit < m.total)
		find(f, MISSING, "%s by a cgroup; %s can be taken now",
		     bytes_text(limit, c.memory_limit), available);
	else if (l.available == NO_LIMIT)
		find(f, UNKNOWN, "/proc/meminfo does not say what is available");
	else
		find(f, GOOD, "%s can be taken: %s", available, l.what);
	cgroup_free(&c);
}

static void look_thp(const struct patient *p, struct finding *f)
{
	char *enabled = sysfs_choice(p->root, THP "/enabled");

	if (!enabled && sysfs_hidden(p->root, MM))
		find(f, UNKNOWN, MM " can't be seen");
	else if (!enabled)
		find(f, MISSING, "not in this kernel");
	else
		find(f, strcmp(enabled, "never") ? GOOD : MISSING, "%s", enabled);
	if (enabled)
		mend(f, "echo madvise | sudo tee " THP "/enabled");
	free(enabled);
}

static void look_huge_pages(const struct patient *p, struct finding *f)
{
	const size_t wanted = 1u << 30; /* bytes: what a remedy asks for */
	size_t sizes[MOST_HUGE_SIZES];
	unsigned n = huge_page_sizes(p->root, sizes);
	char text[sizeof(f->found)] = "", size[BYTES_TEXT];
	enum state state = GOOD;

	for (unsigned i = 0; i < n; i++) {
		struct huge_pages pages = { 0 };
		size_t used = strlen(text);

		if (!is_hugetlb_choice(sizes[i]))
			continue;
		if (huge_pages_read(p->root, sizes[i], ALL_NODES, &pages))
			state = state == GOOD ? UNKNOWN : state;
		snprintf(text + used, sizeof(text) - used, "%s%" PRIu64 " of %" PRIu64 " of %s",
			 used ? ", " : "", pages.available, pages.total,
			 bytes_text(size, sizes[i]));
		if (pages.available)
			continue;
		state = MISSING;
		mend(f, "%secho %zu | sudo tee " HUGE "/hugepages-%zukB/nr_hugepages",
		     *f->remedy ? " && " : "", sizes[i] < wanted ? wanted / sizes[i] : 1,
		     sizes[i] / 1024);
	}
	if (!n && sysfs_hidden(p->root, MM))
		find(f, UNKNOWN, MM " can't be seen");
	else
		find(f, *text ? state : MISSING, "%s", *text ? text : "not in this kernel");
}

static void look_balancing(const struct patient *p, struct finding *f)
{
	uint64_t mode;

	if (sysfs_number(p->root, &mode, "/proc/sys/kernel/numa_balancing"))
		find(f, sysfs_hidden(p->root, "/proc/sys/kernel") ? UNKNOWN : GOOD,
		     "not in this kernel, or not to be seen");
	else if (!mode)
		find(f, GOOD, "off");
	else
		find(f, p->machine->nodes > 1 ? WRONG : GOOD,
		     p->machine->nodes > 1 ? "on (%" PRIu64 ")"
					   : "on (%" PRIu64 "), but there is one node",
		     mode);
}

static void look_swap(const struct patient *p, struct finding *f)
{
	char *meminfo = sysfs_text(p->root, "/proc/meminfo"),
	     *swappiness = sysfs_line(p->root, "/proc/sys/vm/swappiness");
	char all[BYTES_TEXT], used[BYTES_TEXT];
	uint64_t total, free_bytes;

	if (!field_number(meminfo, "SwapTotal", &total) ||
	    !field_number(meminfo, "SwapFree", &free_bytes) || free_bytes > total)
		find(f, UNKNOWN, "/proc/meminfo does not say");
	else if (!total)
		find(f, GOOD, "none");
	else
		find(f, free_bytes < total ? WRONG : GOOD, "%s of %s in use, swappiness %.8s",
		     bytes_text(used, total - free_bytes), bytes_text(all, total),
		     swappiness ? swappiness : "?");
	free(meminfo);
	free(swappiness);
}

/* Really asks and moves a page (to where it is). */
static void look_move_pages(const struct patient *p, struct finding *f)
{
	const size_t page = p->machine->page ? p->machine->page : (size_t)sysconf(_SC_PAGESIZE);
	void *memory = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int status = -1, node;

	if (memory == MAP_FAILED) {
		find(f, UNKNOWN, "mmap: %s", strerror(errno));
		return;
	}
	*(volatile char *)memory = 1;
	if (move_pages(0, 1, &memory, NULL, &status, 0) || status < 0) {
		find(f, MISSING, "asking for a page's node: %s",
		     strerror(status < 0 && status != -1 ? -status : errno));
	} else {
		node = status;
		if (move_pages(0, 1, &memory, &node, &status, MPOL_MF_MOVE) < 0)
			find(f, MISSING, "moving a page: %s", strerror(errno));
		else
			find(f, GOOD, "allowed");
	}
	munmap(memory, page);
}

static void look_memlock(const struct patient *p, struct finding *f)
{
	char *limits = sysfs_text(p->root, "/proc/self/limits"), word[24], text[BYTES_TEXT];
	const char *soft = field_find(limits, "Max locked memory");
	uint64_t limit;

	if (!soft || sscanf(soft, "%23s", word) != 1 || parse_number(word, &limit))
		find(f, UNKNOWN, "/proc/self/limits does not say");
	else
		find(f, limit == NO_LIMIT ? GOOD : MISSING, "%s", bytes_text(text, limit));
	free(limits);
}

/* ---- counters and evidence ---- */

static void look_paranoid(const struct patient *p, struct finding *f)
{
	char *line = sysfs_line(p->root, "/proc/sys/kernel/perf_event_paranoid"), *end;
	long level = line ? strtol(line, &end, 10) : 0;
	struct reason why;
	/*
	 * Who has the capability is not asked by the kernel, but turned away by PAPI, which only
	 * looks at the number.
	 */
	bool allowed = level > 2 && !strcmp(p->root, THIS_MACHINE) && !perf_no_software(&why);

	if (!line || end == line || *end)
		find(f, UNKNOWN, "perf_event_paranoid can't be read");
	else
		find(f, level > 2 ? MISSING : GOOD, "%ld%s", level,
		     allowed	 ? ": the kernel lets us count, but PAPI will not"
		     : level > 2 ? ": nothing is counted"
		     : level > 1 ? ": users count in user space, and of their own"
				 : "");
	free(line);
}

static void look_watchdog(const struct patient *p, struct finding *f)
{
	uint64_t on;

	if (sysfs_number(p->root, &on, "/proc/sys/kernel/nmi_watchdog"))
		find(f, sysfs_hidden(p->root, "/proc/sys/kernel") ? UNKNOWN : GOOD,
		     "not in this kernel, or not to be seen");
	else
		find(f, on ? MISSING : GOOD, on ? "on" : "off");
}

/* By counting: the events that most processors have, and how many of them at a time. */
static void look_pmu(const struct patient *p, struct finding *f)
{
	static const char *const names[] = { "perf::CYCLES",	      "perf::INSTRUCTIONS",
					     "perf::BRANCH-MISSES",   "perf::CACHE-MISSES",
					     "perf::LLC-LOAD-MISSES", "perf::DTLB-LOAD-MISSES" };
	const size_t prefix = strlen("perf::");
	char counted[128] = "", silent[128] = "";
	struct counters *c;
	struct reason why;

	(void)p;
	if (perf_no_hardware(&why)) {
		find(f, MISSING, "%s", why.what);
		mend(f, "%s", why.remedy);
		return;
	}
	c = counters_open(names, LENGTH(names), false);
	for (unsigned i = 0; c && i < LENGTH(names); i++) {
		const struct event *e = counters_event(c, i);
		char *list = e->proven ? counted : silent;
		size_t used = strlen(list);

		if (e->source)
			snprintf(list + used, sizeof(counted) - used, "%s%s", used ? ", " : "",
				 names[i] + prefix);
	}
	find(f, *counted ? GOOD : MISSING, "%s, in %u pass%s%s%s",
	     *counted ? counted : "nothing that counts", c ? counters_passes(c) : 0,
	     c && counters_passes(c) == 1 ? "" : "es",
	     *silent ? "; can be asked for, but count nothing: " : "", silent);
	counters_close(c);
}

static void look_software(const struct patient *p, struct finding *f)
{
	struct reason why;

	(void)p;
	if (!perf_no_software(&why)) {
		find(f, GOOD, "faults, switches and migrations can be counted");
		return;
	}
	find(f, MISSING, "%s", why.what);
	mend(f, "%s", why.remedy);
}

static void look_schedstat(const struct patient *p, struct finding *f)
{
	char *line = sysfs_line(p->root, "/proc/self/schedstat");
	unsigned long long ran, waited, slices;

	if (!line || sscanf(line, "%llu %llu %llu", &ran, &waited, &slices) != 3)
		find(f, MISSING, "/proc/self/schedstat is not there");
	else
		find(f, ran ? GOOD : MISSING, "%s",
		     ran ? "kept" : "all zero: the kernel does not keep it");
	free(line);
}

static void look_mitigations(const struct patient *p, struct finding *f)
{
	static const char *const names[] = { "meltdown", "spectre_v2", "spec_store_bypass",   "mds",
					     "l1tf",	 "retbleed",   "spec_rstack_overflow" };
	char text[sizeof(f->found)] = "";
	unsigned known = 0;

	for (unsigned i = 0; i < LENGTH(names); i++) {
		char *line = sysfs_line(p->root, CPUS "/vulnerabilities/%s", names[i]);
		size_t used = strlen(text);

		known += line != NULL;
		if (line && !strncmp(line, "Mitigation", 10))
			snprintf(text + used, sizeof(text) - used, "%s%s", used ? ", " : "",
				 names[i]);
		free(line);
	}
	find(f, known ? GOOD : UNKNOWN, "%s%s", known ? "mitigated: " : "the kernel does not say",
	     !known  ? ""
	     : *text ? text
		     : "none");
}

static void look_papi(const struct patient *p, struct finding *f)
{
	struct reason why;
	char version[32];
	unsigned presets = papi_presets(version, &why);

	(void)p;
	if (presets) {
		find(f, GOOD, "%s; %u of its presets can be counted: papi_avail -a", version,
		     presets);
		return;
	}
	find(f, MISSING, "%s%s%.200s", version, *version ? ": " : "", why.what);
	mend(f, "%s", why.remedy);
}

#if defined(__x86_64__)
#define GET_LIKWID "sudo apt-get install likwid # Fedora: likwid, Spack: likwid"

/*
 * What likwid-perfctr reads the processor's counters by: by itself, or by a daemon that is allowed
 * to.
 */
static void look_registers(const char *library, struct finding *f)
{
	static const char *const daemons[] = { "/usr/sbin/likwid-accessD",
					       "/usr/local/sbin/likwid-accessD",
					       "/usr/bin/likwid-accessD" };
	const char *const file = "/dev/cpu/0/msr";
	bool daemon = false;

	for (unsigned i = 0; i < LENGTH(daemons); i++)
		daemon |= !access(daemons[i], X_OK);
	if (!access(file, R_OK | W_OK)) {
		find(f, GOOD, "%s; %s can be read by us", library, file);
	} else if (errno == ENOENT) {
		find(f, MISSING,
		     "%s, but no %s, which likwid-perfctr needs unless built for perf_event",
		     library, file);
		mend(f, "sudo modprobe msr");
	} else if (daemon) {
		find(f, GOOD, "%s; %s is for likwid-accessD to read", library, file);
	} else {
		find(f, MISSING, "%s, but neither %s nor likwid-accessD for us", library, file);
		mend(f, "sudo chown root /usr/sbin/likwid-accessD && sudo chmod u+s "
			"/usr/sbin/likwid-accessD");
	}
}
#else
#define GET_LIKWID                                                                               \
	"spack install likwid # it counts by perf_event; Debian and Ubuntu have LIKWID for x86 " \
	"alone"

static void look_registers(const char *library, struct finding *f)
{
	find(f, GOOD, "%s; likwid-perfctr counts by perf_event_open", library);
}
#endif

static void look_likwid(const struct patient *p, struct finding *f)
{
	char *why, *library = likwid_available(&why);

	(void)p;
	if (library)
		look_registers(library, f);
	else
		find(f, MISSING, "%s", why ? why : strerror(ENOMEM));
	free(library);
	free(why);
}

/* ---- Python ---- */

/* Starts a program with its output going to *output. -1 with errno set. */
static pid_t start(const char *program, char *const *arguments, int *output)
{
	posix_spawn_file_actions_t files;
	posix_spawnattr_t attributes;
	int ends[2], error;
	pid_t child;

	if (pipe2(ends, O_CLOEXEC))
		return -1;
	posix_spawn_file_actions_init(&files);
	posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
	posix_spawn_file_actions_adddup2(&files, ends[1], 1);
	posix_spawn_file_actions_addopen(&files, 2, "/dev/null", O_WRONLY, 0);
	posix_spawnattr_init(&attributes);
	/* so that what it starts can be ended with it */
	posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
	error = posix_spawnp(&child, program, &files, &attributes, arguments, environ);
	posix_spawnattr_destroy(&attributes);
	posix_spawn_file_actions_destroy(&files);
	close(ends[1]);
	if (error) {
		close(ends[0]);
		errno = error;
		return -1;
	}
	*output = ends[0];
	return child;
}

/* Reads to the end of the output. -1: it took too long. */
static int listen_to(int output, char *text, size_t size)
{
	const double deadline = clock_now() + PATIENCE;
	struct pollfd wait = { .fd = output, .events = POLLIN };
	size_t used = 0;

	text[0] = '\0';
	for (;;) {
		double left = deadline - clock_now();
		char chunk[256];
		ssize_t n;

		if (left <= 0)
			return -1;
		/* a signal, or the deadline, which is seen above */
		if (poll(&wait, 1, (int)(left * 1000) + 1) <= 0)
			continue;
		n = read(output, chunk, sizeof(chunk));
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return 0;
		n = (size_t)n < size - 1 - used ? n : (ssize_t)(size - 1 - used);
		memcpy(text + used, chunk, (size_t)n);
		text[used += (size_t)n] = '\0';
	}
}

static void look_python(const struct patient *p, struct finding *f)
{
	static const char script[] =
		"import sys\n"
		"if sys.version_info < (3, 9): sys.exit(print('is older than 3.9'))\n"
		"missing = []\n"
		"for name in '" LOCUS_PYTHON_MODULES "'.split():\n"
		"    try: __import__(name)\n"
		"    except Exception: missing.append(name)\n"
		"print('lacks ' + ', '.join(missing) if missing else 'has all that the report "
		"needs')\n";
	const char *given = getenv("LOCUS_PYTHON"),
		   *python = given && *given ? given : LOCUS_PYTHON_PATH;
	char *const arguments[] = { (char *)python, "-c", (char *)script, NULL };
	char answer[128];
	int output, late;
	pid_t child;

	(void)p;
	if (!python) {
		find(f, MISSING, "none was found when this was built, and LOCUS_PYTHON is not set");
		return;
	}
	child = start(python, arguments, &output);
	if (child < 0) {
		find(f, MISSING, "%.120s: %s", python, strerror(errno));
		return;
	}
	late = listen_to(output, answer, sizeof(answer));
	close(output);
	if (late)
		kill(-child, SIGKILL);
	while (waitpid(child, NULL, 0) < 0 && errno == EINTR)
		;
	answer[strcspn(answer, "\n")] = '\0';
	if (late)
		find(f, UNKNOWN, "%.120s took more than %g s to import what the report needs",
		     python, PATIENCE);
	else
		find(f, strstr(answer, "has all") ? GOOD : MISSING, "%.120s %s", python,
		     *answer ? answer : "does not run");
}

/* ---- the table ---- */

static const struct check {
	const char *name, *why;
	void (*look)(const struct patient *, struct finding *);
	const char *remedy;
	bool live; /* tries, instead of reading: this machine only */
} checks[] = {
	{ "load", "others' work on the same CPUs makes samples longer", look_load,
	  "ps -eo pcpu,pid,user,comm --sort=-pcpu | head", true },
	{ "governor", "the clock follows the load: what runs first runs slower", look_governor,
	  "sudo cpupower frequency-set --governor performance", false },
	{ "turbo", "the clock depends on heat and on how many cores are busy", look_turbo, NULL,
	  false },
	{ "clock source", "reading the clock is slow, or leaves the process", look_clock_source,
	  "sudo dmesg | grep -i tsc # says why it is not used", false },
	{ "virtual machine", "the host moves the CPUs about and takes time away (steal)",
	  look_virtual, NULL, false },
	{ "CPUs", "layouts and default numbers of threads leave the others out", look_cpus,
	  "taskset -c \"$(cat " CPUS "/online)\" locus ... # SLURM: --exclusive", false },
	{ "NUMA nodes", "what needs all nodes is impossible", look_nodes,
	  "sbatch --exclusive --mem=0 ... # by hand: cpuset.mems of the cgroup", false },
	{ "memory policy", "data can't lie on other nodes, or not where a trial wants them",
	  look_policy, "numactl --localalloc locus ... # SLURM: srun --mem-bind=none", false },
	{ "CPU quota", "the kernel stops the process when its share is used up", look_quota,
	  "sbatch --exclusive ... # by hand: raise cpu.max (cpu.cfs_quota_us) of the cgroup",
	  false },
	{ "hardware threads", "siblings share a core", look_smt, NULL, false },
	{ "isolated CPUs", "free of others' work, and used only when named", look_isolated, NULL,
	  false },
	{ "memory", "larger data can't lie on that node", look_memory,
	  "sync && echo 3 | sudo tee /proc/sys/vm/drop_caches", false },
	{ "memory limit", "sizes beyond it are impossible", look_memory_limit,
	  "sbatch --mem=0 ... # by hand: raise memory.max (memory.limit_in_bytes) of the cgroup",
	  false },
	{ "transparent pages", "pages=thp is impossible", look_thp, NULL, false },
	{ "hugetlb pages", "pages=2M or pages=1G is impossible", look_huge_pages, NULL, false },
	{ "NUMA balancing", "the kernel moves pages while they are measured", look_balancing,
	  "sudo sysctl kernel.numa_balancing=0", false },
	{ "swap", "pages may have to come back from disk", look_swap,
	  "sudo swapoff -a && sudo swapon -a", false },
	{ "move_pages", "placement can only be counted or not verified at all, nor migrated",
	  look_move_pages, "docker run --cap-add SYS_NICE ... # seccomp forbids it", true },
	{ "locked memory", "MPI over InfiniBand and counters may fail", look_memlock,
	  "ulimit -l unlimited", false },
	{ "schedstat", "waiting for a CPU can't be told from running", look_schedstat, NULL,
	  false },
	{ "perf_event_paranoid", "counters are forbidden, or PAPI takes them for that",
	  look_paranoid, "sudo sysctl kernel.perf_event_paranoid=1", false },
	{ "NMI watchdog", "it takes one of the processor's counters", look_watchdog,
	  "sudo sysctl kernel.nmi_watchdog=0", false },
	{ "hardware counters", "no cycles, misses or bandwidth beside the times", look_pmu, NULL,
	  true },
	{ "software counters", "no perf::CONTEXT-SWITCHES and the like; the kernel's own are there",
	  look_software, NULL, true },
	{ "PAPI", "no counters through PAPI", look_papi, NULL, true },
	{ "LIKWID", "no counters of regions by likwid-perfctr", look_likwid, GET_LIKWID, true },
	{ "mitigations", "they lengthen system calls and indirect branches", look_mitigations, NULL,
	  false },
	{ "Python", "locus report does not work", look_python,
	  "python3 -m venv ~/locus-python && ~/locus-python/bin/pip install altair duckdb jinja2 "
	  "jsonschema-rs numpy vl-convert-python && "
	  "export LOCUS_PYTHON=~/locus-python/bin/python",
	  true },
};

static void print(FILE *out, const struct check *c, const struct finding *f)
{
	static const char *const words[STATES] = { "[ok]", "[!!]", "[--]", "[??]" };
	const char *remedy = *f->remedy ? f->remedy : c->remedy;

	fprintf(out, "%s %-20s %s\n", words[f->state], c->name, f->found);
	if (f->state != WRONG && f->state != MISSING)
		return;
	fprintf(out, "     %-20s %s\n", "", c->why);
	if (remedy)
		fprintf(out, "     %-20s $ %s\n", "", remedy);
}

int doctor_at(const char *root, const struct machine *machine, FILE *out)
{
	const struct patient patient = { root, machine };
	unsigned count[STATES] = { 0 };

	for (unsigned i = 0; i < LENGTH(checks); i++) {
		struct finding f = { .state = UNKNOWN };

		if (checks[i].live && strcmp(root, THIS_MACHINE))
			find(&f, UNKNOWN, "not this machine");
		else
			checks[i].look(&patient, &f);
		count[f.state]++;
		print(out, &checks[i], &f);
		fflush(out);
	}
	fprintf(out, "%u spoil measurements [!!], %u are missing [--], %u unknown [??]\n",
		count[WRONG], count[MISSING], count[UNKNOWN]);
	return fflush(out) || ferror(out) || count[WRONG] ? 1 : 0;
}

int doctor(const struct machine *machine, FILE *out)
{
	return doctor_at(THIS_MACHINE, machine, out);
}
