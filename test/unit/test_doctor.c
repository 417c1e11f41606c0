/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The doctor: each complaint and its absence, on copies of /proc and /sys; and that on this machine
 * it ends, whatever Python does.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <signal.h>
#include <unistd.h>
#include <cmocka.h>

#include "commands/doctor/doctor.h"
#include "machine/clock.h"
#include "count/counters.h"
#include "machine/topology/topology.h"
#include "tree.h"

#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))
#define CPUS	      "/sys/devices/system/cpu"
#define NODES	      "/sys/devices/system/node"
#define THP	      "/sys/kernel/mm/transparent_hugepage"
#define HUGE	      "/sys/kernel/mm/hugepages"
#define CLOCK	      "/sys/devices/system/clocksource/clocksource0"

/* All as it should be: two nodes, four CPUs. */
static const struct file healthy[] = {
	{ "/proc/cpuinfo", "flags\t\t: fpu sse2\n" },
	{ "/proc/meminfo", "MemTotal: 8388608 kB\nMemFree: 8000000 kB\nMemAvailable: 8000000 "
			   "kB\nSwapTotal: 0 kB\nSwapFree: 0 kB\n" },
	{ "/proc/self/limits",
	  "Max locked memory         unlimited            unlimited            bytes     \n" },
	{ "/proc/self/schedstat", "12345 678 9\n" },
	{ "/proc/self/cgroup", "0::/\n" },
	{ "/proc/self/mountinfo", "35 25 0:30 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n" },
	{ "/proc/sys/kernel/numa_balancing", "0\n" },
	{ "/proc/sys/kernel/perf_event_paranoid", "1\n" },
	{ "/proc/sys/kernel/nmi_watchdog", "0\n" },
	{ "/proc/sys/vm/swappiness", "10\n" },
	{ CPUS "/online", "0-3\n" },
	{ CPUS "/isolated", "\n" },
	{ CPUS "/nohz_full", "(null)\n" },
	{ CPUS "/intel_pstate/no_turbo", "1\n" },
	{ CPUS "/cpu0/cpufreq/scaling_governor", "performance\n" },
	{ CPUS "/cpu1/cpufreq/scaling_governor", "performance\n" },
	{ CPUS "/cpu2/cpufreq/scaling_governor", "performance\n" },
	{ CPUS "/cpu3/cpufreq/scaling_governor", "performance\n" },
	{ CPUS "/vulnerabilities/meltdown", "Mitigation: PTI\n" },
	{ CLOCK "/current_clocksource", "tsc\n" },
	{ CLOCK "/available_clocksource", "tsc hpet acpi_pm \n" },
	{ "/proc/self/numa_maps", "55d0c0de0000 default file=/bin/locus mapped=9\n" },
	{ NODES "/online", "0-1\n" },
	{ NODES "/has_memory", "0-1\n" },
	{ NODES "/node0/meminfo", "Node 0 MemTotal: 4194304 kB\nNode 0 MemFree: 4000000 kB\n" },
	{ NODES "/node1/meminfo", "Node 1 MemTotal: 4194304 kB\nNode 1 MemFree: 3900000 kB\n" },
	{ THP "/enabled", "always [madvise] never\n" },
	{ HUGE "/hugepages-2048kB/nr_hugepages", "512\n" },
	{ HUGE "/hugepages-2048kB/free_hugepages", "512\n" },
	{ 0 },
};

/* One thing changed, and what is then said of it. */
static const struct {
	const char *path, *text; /* text NULL: the file is gone */
	/* the line that must be there; a part of the command under it, or NULL */
	const char *line, *remedy;
} changes[] = {
	{ CPUS "/cpu2/cpufreq/scaling_governor", "powersave\n",
	  "[!!] governor             powersave on 1 of 4 CPUs", "cpupower frequency-set" },
	{ CPUS "/intel_pstate/no_turbo", "0\n", "[!!] turbo                on",
	  "echo 1 | sudo tee " CPUS "/intel_pstate/no_turbo" },
	{ CPUS "/intel_pstate/no_turbo", NULL, "[??] turbo ", NULL },
	{ CLOCK "/current_clocksource", "hpet\n", "[!!] clock source         hpet",
	  "echo tsc | sudo tee" },
	{ CLOCK "/current_clocksource", NULL, "[??] clock source ", NULL },
	{ "/proc/cpuinfo", "flags\t\t: fpu hypervisor\n",
	  "[!!] virtual machine      a guest of an unknown hypervisor", NULL },
	{ CPUS "/online", "0-7\n", "[--] CPUs                 4 of 8 CPUs may be used", "taskset" },
	{ CPUS "/online", "garbage\n", "[??] CPUs ", NULL },
	{ CPUS "/present", "0-4\n",
	  "[--] CPUs                 all 4 CPUs may be used; CPU 4 is offline\n",
	  "sudo chcpu -e 4" },
	{ CPUS "/present", "0-7\n",
	  "[--] CPUs                 all 4 CPUs may be used; CPUs 4-7 are offline\n",
	  "sudo chcpu -e 4-7" },
	{ CPUS "/present", "0-3\n", "[ok] CPUs                 all 4 CPUs may be used\n", NULL },
	{ CPUS "/present", "garbage\n", "[ok] CPUs                 all 4 CPUs may be used\n",
	  NULL },
	{ NODES "/online", "0-2\n", "[ok] NUMA nodes           3\n",
	  NULL }, /* the third has no memory */
	{ "/proc/self/numa_maps", "55d0c0de0000 bind:1 file=/bin/locus\n",
	  "[--] memory policy        bind:1: memory of these nodes only\n",
	  "numactl --localalloc locus" },
	{ "/proc/self/numa_maps", "55d0c0de0000 interleave:0-1 file=/bin/locus\n",
	  "[!!] memory policy        interleave:0-1: pages lie there, and not with the threads "
	  "that touch them\n                          first\n",
	  "srun --mem-bind=none" },
	{ "/proc/self/numa_maps", NULL,
	  "[??] memory policy        /proc/self/numa_maps can't be read\n", NULL },
	{ NODES "/online", NULL,
	  "[??] NUMA nodes           " NODES " can't be seen: one node is assumed", NULL },
	{ "/sys/fs/cgroup/cpu.max", "250000 100000\n", "[!!] CPU quota            2.5 CPUs",
	  "cpu.max" },
	{ "/sys/fs/cgroup/memory.max", "1073741824\n",
	  "[--] memory limit         1 GiB by a cgroup; 1 GiB can be taken now", "memory.max" },
	{ NODES "/node0/meminfo", "Node 0 MemTotal: 4194304 kB\nNode 0 MemFree: 2000000 kB\n",
	  "[--] memory               1.9 GiB of 4 GiB available on node 0, the least of 2 nodes\n",
	  "drop_caches" },
	{ NODES "/node0/meminfo", "Node 0 MemTotal: 8388608 kB\nNode 0 MemFree: 4000000 kB\n",
	  "[--] memory               3.7 GiB of 4 GiB available on node 1, the least of 2 nodes; "
	  "node 0 is the\n                          fullest: 3.8 GiB of 8 GiB\n",
	  "drop_caches" },
	{ NODES "/node1/meminfo", "Node 1 MemTotal: 262144 kB\nNode 1 MemFree: 250000 kB\n",
	  "[ok] memory               244 MiB of 256 MiB available on node 1, the least of 2 "
	  "nodes\n",
	  NULL },
	{ NODES "/node1/meminfo", "Node 1 MemTotal: 0 kB\nNode 1 MemFree: 0 kB\n",
	  "[ok] memory               3.8 GiB of 4 GiB available\n", NULL },
	{ NODES "/node1/meminfo", "Node 1 MemTotal: 4194304 kB\nNode 1 MemFree: 1048576 kB\n",
	  "[--] memory               1 GiB of 4 GiB available on node 1, the least of 2 nodes\n",
	  "drop_caches" },
	{ CPUS "/isolated", "2-3\n", "[ok] isolated CPUs        isolated: 2-3;", NULL },
	{ THP "/enabled", "always madvise [never]\n", "[--] transparent pages    never",
	  "echo madvise | sudo tee " THP "/enabled" },
	{ THP "/enabled", NULL, "[--] transparent pages    not in this kernel", NULL },
	{ HUGE "/hugepages-2048kB/free_hugepages", "0\n",
	  "[--] hugetlb pages        2 MiB: 0 of 512 free",
	  "echo 512 | sudo tee \\\n                              " HUGE
	  "/hugepages-2048kB/nr_hugepages" },
	/* Of Arm's many sizes only those that can be asked for matter. */
	{ HUGE "/hugepages-64kB/nr_hugepages", "0\n",
	  "[ok] hugetlb pages        2 MiB: 512 of 512 free", NULL },
	{ "/proc/sys/kernel/numa_balancing", "1\n", "[!!] NUMA balancing       on (1)",
	  "sudo sysctl kernel.numa_balancing=0" },
	{ "/proc/sys/kernel/numa_balancing", NULL,
	  "[ok] NUMA balancing       not in this kernel, or hidden", NULL },
	{ "/proc/meminfo",
	  "MemTotal: 8388608 kB\nMemAvailable: 8000000 kB\nSwapTotal: 4194304 kB\nSwapFree: "
	  "3145728 kB\n",
	  "[!!] swap                 1 GiB of 4 GiB in use, swappiness 10", "swapoff" },
	{ "/proc/self/limits",
	  "Max locked memory         8388608              8388608              bytes     \n",
	  "[--] locked memory        8 MiB", "ulimit -l unlimited" },
	{ "/proc/self/schedstat", "0 0 0\n", "[--] schedstat ", NULL },
	{ "/proc/self/schedstat", NULL, "[--] schedstat ", NULL },
	{ "/proc/sys/kernel/perf_event_paranoid", "4\n",
	  "[--] perf_event_paranoid  4: nothing is counted",
	  "sudo sysctl kernel.perf_event_paranoid=1" },
	{ "/proc/sys/kernel/perf_event_paranoid", "2\n",
	  "[ok] perf_event_paranoid  2: users count in user space", NULL },
	{ "/proc/sys/kernel/perf_event_paranoid", "-1\n", "[ok] perf_event_paranoid  -1\n", NULL },
	{ "/proc/sys/kernel/perf_event_paranoid", "\n", "[??] perf_event_paranoid", NULL },
	{ "/proc/sys/kernel/nmi_watchdog", "1\n", "[--] NMI watchdog         on",
	  "sudo sysctl kernel.nmi_watchdog=0" },
	{ "/proc/sys/kernel/nmi_watchdog", NULL, "[ok] NMI watchdog         not in this kernel",
	  NULL },
};

static struct machine *machine;

static int open_machine(void **state)
{
	const char *why = "";

	(void)state;
	machine = machine_open("node:2 core:2 pu:1", &why);
	if (!machine)
		puts(why);
	return machine ? 0 : -1;
}

static int close_machine(void **state)
{
	(void)state;
	machine_close(machine);
	return 0;
}

/* What the doctor says; *status is its exit status. */
static char *opinion(const char *of, const struct machine *m, int *status)
{
	static char *text; /* static: gcc 12 takes what a stream wrote for a part of the frame */
	static size_t size;
	FILE *out = open_memstream(&text, &size);

	assert_non_null(out);
	*status = *of ? doctor_at(of, m, out) : doctor(m, out);
	fclose(out);
	return text;
}

/* A terminal has 100 columns. */
static void assert_narrow(const char *text)
{
	for (const char *line = text; *line; line += strcspn(line, "\n") + 1)
		if (strcspn(line, "\n") > 100)
			fail_msg("too wide: %s", line);
}

static void the_healthy_have_nothing(void **state)
{
	char *text;
	int status;

	(void)state;
	put_files(healthy);
	text = opinion(root, machine, &status);
	assert_null(strstr(text, "[!!] "));
	assert_null(strstr(text, "[--] "));
	assert_null(strstr(text, "$ "));
	assert_int_equal(status, 0);
	assert_non_null(strstr(text, "[ok] governor             performance\n"));
	assert_non_null(strstr(
		text,
		"[ok] isolated CPUs        isolated: none; without tick (nohz_full): none\n"));
	assert_non_null(strstr(text, "[ok] mitigations          mitigated: meltdown\n"));
	free(text);
}

static void each_fault_is_named(void **state)
{
	(void)state;
	for (unsigned i = 0; i < LENGTH(changes); i++) {
		const char *line;
		char *text, *next;
		int status;

		put_files(healthy);
		if (changes[i].text)
			put_file(changes[i].path, changes[i].text);
		else
			remove(in_tree(changes[i].path));
		text = opinion(root, machine, &status);
		remove(in_tree(changes[i].path));
		assert_narrow(text);
		line = strstr(text, changes[i].line);
		if (!line || (line != text && line[-1] != '\n'))
			fail_msg("no line \"%s\" in:\n%s", changes[i].line, text);
		assert_int_equal(status, changes[i].line[1] == '!');
		/* what belongs to the line is indented below it */
		next = strstr(line, "\n[");
		assert_non_null(next);
		*next = '\0';
		if (changes[i].remedy && !strstr(line, changes[i].remedy))
			fail_msg("no \"%s\" in:\n%s", changes[i].remedy, line);
		if (!changes[i].remedy)
			assert_null(strstr(line, "$ "));
		free(text);
	}
}

/* SMT is off: that the cores' second threads are offline is no fault. */
static void siblings_that_are_off(void **state)
{
	char *text;
	int status;

	(void)state;
	put_files(healthy);
	put_file(CPUS "/present", "0-7\n");
	put_file(CPUS "/smt/control", "off\n");
	text = opinion(root, machine, &status);
	remove(in_tree(CPUS "/present"));
	remove(in_tree(CPUS "/smt/control"));
	assert_non_null(strstr(text,
			       "[ok] CPUs                 all 4 CPUs may be used; CPUs 4-7 are "
			       "offline (SMT is off)\n"));
	assert_null(strstr(text, "chcpu"));
	free(text);
}

/* Two virtual CPUs on one core of the host, which the topology does not show. */
static void hidden_siblings_are_named(void **state)
{
	static const struct {
		struct siblings pair[3];
		unsigned pairs;
		enum finding_state state;
		const char *found;
	} rows[] = {
		{ { { { 0, 0 }, 0 } }, 0, FINDING_UNKNOWN, "there is one core" },
		{ { { { 0, 1 }, 0 } }, 1, FINDING_UNKNOWN, "no two CPUs were free at once" },
		{ { { { 0, 1 }, 77e-9 }, { { 1, 2 }, 61e-9 }, { { 2, 3 }, 0 } },
		  3,
		  FINDING_GOOD,
		  "none: a line takes 61 ns or more between cores" },
		{ { { { 0, 1 }, 77e-9 }, { { 1, 2 }, 7.7e-9 }, { { 2, 3 }, 0 } },
		  3,
		  FINDING_WRONG,
		  "CPUs 1 and 2 share a core: a line goes from one to the other in 7.7 ns" },
		{ { { { 0, 1 }, 8e-9 }, { { 1, 2 }, 7.7e-9 }, { { 2, 3 }, 7.9e-9 } },
		  3,
		  FINDING_WRONG,
		  "CPUs 0 and 1 share a core: a line goes from one to the other in 8.0 ns; so do 2 "
		  "pairs more" },
	};

	(void)state;
	for (size_t i = 0; i < LENGTH(rows); i++) {
		struct finding f = { .state = FINDING_GOOD };

		siblings_tell(rows[i].pair, rows[i].pairs, &f);
		assert_int_equal(f.state, rows[i].state);
		assert_string_equal(f.found, rows[i].found);
	}
}

/* A CPU that there is not ends it at once; of one that we may not use nothing is known. */
static void an_exchange_ends(void **state)
{
	const int cpu = machine->cpu[0].number, none = 1 << 20;
	const double began = clock_now();

	(void)state;
	assert_true(siblings_exchange(none, none, 0.02) <= 0);
	assert_true(siblings_exchange(cpu, none, 0.02) <= 0);
	assert_true(siblings_exchange(none, cpu, 0.02) <= 0);
	assert_true(siblings_exchange(0, 0, 0.02) >= 0);
	assert_true(clock_now() - began < 100);
}

/*
 * Two threads of one CPU take turns, so this needs no two CPUs that run at once: those of a busy or
 * emulated machine may not.
 */
static void an_exchange_takes_time(void **state)
{
	const int cpu = machine->cpu[0].number;
	double took = 0;

	(void)state;
	for (double seconds = 0.02; seconds < 20 && !(took > 0); seconds *= 2)
		took = siblings_exchange(cpu, cpu, seconds);
	assert_true(took > 0);
}

static void nodes_that_are_not_ours_are_told_by_their_cause(void **state)
{
	const char *why;
	struct machine *two = machine_open("node:2 core:2 pu:1", &why);
	char *text;
	int status;

	(void)state;
	assert_non_null(two);
	put_files(healthy);
	put_file(NODES "/online", "0-2\n");
	put_file(NODES "/has_memory", "0-2\n");
	text = opinion(root, two, &status);
	assert_non_null(
		strstr(text, "[--] NUMA nodes           the memory of 2 of 3 may be used\n"));
	assert_non_null(strstr(text, "cpuset.mems"));
	free(text);

	put_files(healthy);
	two->node[1].memory = 0;
	two->node[1].first_touch = 0;
	put_file(NODES "/has_memory", "0\n");
	text = opinion(root, two, &status);
	assert_non_null(strstr(text, "[--] NUMA nodes           2; node 1 has no memory: what its "
				     "CPUs touch first lies on node 0\n"));
	assert_non_null(strstr(text, "dmidecode"));
	assert_null(strstr(text, "cpuset.mems"));
	free(text);

	/* The policy has a line of its own. */
	put_files(healthy);
	two->node[1].lack = NODE_NOT_IN_POLICY;
	text = opinion(root, two, &status);
	assert_non_null(strstr(text, "[ok] NUMA nodes           2\n"));
	free(text);
	machine_close(two);
}

static void a_single_node_may_be_balanced(void **state)
{
	const char *why;
	struct machine *one = machine_open("core:4 pu:1", &why);
	char *text;
	int status;

	(void)state;
	assert_non_null(one);
	put_files(healthy);
	put_file("/proc/sys/kernel/numa_balancing", "1\n");
	text = opinion(root, one, &status);
	assert_int_equal(status, 0);
	assert_non_null(strstr(text, "[ok] NUMA balancing       on (1), but there is one node"));
	free(text);
	machine_close(one);
}

static void nothing_to_see_is_unknown(void **state)
{
	char *text;
	int status;

	(void)state;
	text = opinion(root, machine, &status);
	assert_int_equal(status, 0);
	assert_null(strstr(text, "[!!] "));
	assert_non_null(strstr(text, "[??] governor "));
	assert_non_null(strstr(text, "[??] hugetlb pages "));
	assert_non_null(strstr(text, "[??] transparent pages "));
	assert_non_null(strstr(text, "[??] isolated CPUs "));
	assert_non_null(strstr(text, "[??] NUMA balancing "));
	assert_non_null(strstr(text, "[??] memory "));
	assert_non_null(strstr(text, "[??] NUMA nodes "));
	free(text);
}

static void a_full_disk_is_an_error(void **state)
{
	FILE *full = fopen("/dev/full", "w");

	(void)state;
	if (!full) {
		print_message("this system has no /dev/full\n");
		skip();
	}
	put_files(healthy);
	assert_int_equal(doctor_at(root, machine, full), 1);
	fclose(full);
}

/* What it says of a Python, on this machine. */
static char *opinion_of_python(const char *python, double *elapsed)
{
	const char *why;
	struct machine *here = machine_open(NULL, &why);
	double begin = clock_now();
	char *text, *line;
	int status;

	assert_non_null(here);
	setenv("LOCUS_PYTHON", python, 1);
	text = opinion("", here, &status);
	unsetenv("LOCUS_PYTHON");
	machine_close(here);
	*elapsed = clock_now() - begin;
	line = strstr(text, "] Python ");
	assert_non_null(line);
	line = strdup(line - 3);
	free(text);
	return line;
}

/*
 * What it says of each kind of counters on this machine agrees with what can be counted; a kind
 * that can't be counted has a remedy.
 */
static void counters_are_tried(void **state)
{
	static const struct {
		const char *name, *event;
	} rows[] = { { "hardware counters", "perf::CYCLES" },
		     { "software counters", "perf::CONTEXT-SWITCHES" },
		     { "PAPI", "PAPI_TOT_CYC" } };
	const char *why;
	struct machine *here = machine_open(NULL, &why);
	char *text;
	int status;

	(void)state;
	assert_non_null(here);
	text = opinion("", here, &status);
	machine_close(here);
	for (unsigned i = 0; i < LENGTH(rows); i++) {
		struct counters *c = counters_open(&rows[i].event, 1, false);
		char name[32], *line;

		snprintf(name, sizeof(name), "] %s ", rows[i].name);
		line = strstr(text, name);
		assert_non_null(line);
		assert_int_equal(!strncmp(line - 3, "[ok", 3), counters_passes(c) > 0);
		if (!counters_passes(c))
			assert_memory_equal(strchr(strchr(line, '\n') + 1, '\n') + 1, "     ", 5);
		counters_close(c);
	}
	assert_non_null(strstr(text, "] LIKWID "));
	free(text);
}

/*
 * What it says of LIKWID, by processor: on x86 it reads registers, for which it needs a driver, and
 * who may open its file; elsewhere (64-bit Arm, POWER) it counts by perf_event_open.
 */
static void likwid_counts_by_registers_or_by_perf_event(void **state)
{
	static const struct {
		const char *library, *file; /* NULL: is not there */
		bool registers;
		const char *found, *remedy;
	} rows[] = {
		{ NULL, NULL, true, "no LIKWID",
		  "sudo apt-get install likwid # Fedora: likwid, Spack: likwid" },
		{ NULL, NULL, false, "no LIKWID",
		  "spack install likwid # it counts by perf_event; Debian and Ubuntu have LIKWID "
		  "for x86 alone" },
		{ "liblikwid.so.5.2", NULL, false,
		  "liblikwid.so.5.2; likwid-perfctr counts by perf_event_open", "" },
		{ "liblikwid.so.5.2", NULL, true,
		  "liblikwid.so.5.2, but no /dev/cpu/0/msr, which likwid-perfctr needs unless "
		  "built "
		  "for perf_event",
		  "sudo modprobe msr" },
		{ "liblikwid.so.5.2", "/dev/cpu/0/msr", true,
		  "liblikwid.so.5.2; we may read /dev/cpu/0/msr", "" },
		/* not a folder: the file below it can't be opened, but not with ENOENT */
		{ "liblikwid.so.5.2", "/dev/cpu/0", true,
		  "liblikwid.so.5.2, but we may use neither /dev/cpu/0/msr nor likwid-accessD",
		  "sudo chown root /usr/sbin/likwid-accessD && sudo chmod u+s "
		  "/usr/sbin/likwid-accessD" },
	};

	(void)state;
	for (unsigned i = 0; i < LENGTH(rows); i++) {
		const struct likwid_found found = { rows[i].library, "no LIKWID",
						    rows[i].registers };
		const bool missing = *rows[i].remedy;
		struct finding f = { .state = FINDING_UNKNOWN };

		if (rows[i].file)
			put_file(rows[i].file, "");
		judge_likwid(&found, root, &f);
		if (rows[i].file)
			remove(in_tree(rows[i].file));
		remove(in_tree("/dev/cpu/0"));
		assert_int_equal(f.state, missing ? FINDING_MISSING : FINDING_GOOD);
		assert_string_equal(f.found, rows[i].found);
		assert_string_equal(f.remedy, rows[i].remedy);
	}
}

/* Registers that only its daemon may read. */
static void likwid_has_a_daemon(void **state)
{
	const struct likwid_found found = { "liblikwid.so.5.2", NULL, true };
	struct finding f = { .state = FINDING_UNKNOWN };

	(void)state;
	put_file("/dev/cpu/0", "");
	put_file("/usr/local/sbin/likwid-accessD", "");
	assert_int_equal(chmod(in_tree("/usr/local/sbin/likwid-accessD"), 0755), 0);
	judge_likwid(&found, root, &f);
	assert_int_equal(f.state, FINDING_GOOD);
	assert_string_equal(f.found, "liblikwid.so.5.2; likwid-accessD reads /dev/cpu/0/msr");
	assert_string_equal(f.remedy, "");
}

static void script(const char *text)
{
	put_file("/python", text);
	assert_int_equal(chmod(in_tree("/python"), 0700), 0);
}

static void python_is_tried(void **state)
{
	static const struct {
		const char *script, *says;
	} rows[] = {
		{ "#!/bin/sh\necho has all that the report needs\n", "[ok]" },
		{ "#!/bin/sh\necho lacks altair\n", "[--]" },
		{ "#!/bin/sh\nexit 1\n", "[--]" },
		{ "#!/bin/sh\nkill -9 $$\n", "[--]" },
		{ "#!/bin/sh\nhead -c 100000 /dev/zero\n", "[--]" },
		{ "not a program", "[--]" },
	};
	double elapsed;
	char *line;

	(void)state;
	for (unsigned i = 0; i < LENGTH(rows); i++) {
		script(rows[i].script);
		line = opinion_of_python(in_tree("/python"), &elapsed);
		assert_int_equal(strncmp(line, rows[i].says, 4), 0);
		free(line);
	}
	line = opinion_of_python("/nowhere/python", &elapsed);
	assert_non_null(strstr(line, "/nowhere/python: No such file or directory"));
	assert_non_null(strstr(line, "$ python3 -m venv"));
	free(line);
}

/* One that never answers is ended, with all that it started. */
static void python_may_hang(void **state)
{
	char text[2 * PATH_MAX], *line, *pid;
	double elapsed;
	FILE *file;
	int child = 0;

	(void)state;
	snprintf(text, sizeof(text), "#!/bin/sh\nsleep 600 &\necho $! >%s/child\nwait\n", root);
	script(text);
	pid = strdup(in_tree("/child"));
	line = opinion_of_python(in_tree("/python"), &elapsed);
	assert_int_equal(strncmp(line, "[??]", 4), 0);
	assert_true(elapsed < 60);
	free(line);
	file = fopen(pid, "r");
	assert_non_null(file);
	assert_int_equal(fscanf(file, "%d", &child), 1);
	fclose(file);
	free(pid);
	/* Gone, or dead and not yet collected by its new parent. */
	for (unsigned tries = 0; !kill(child, 0); tries++) {
		char path[64], state_of = 0;

		snprintf(path, sizeof(path), "/proc/%d/stat", child);
		file = fopen(path, "r");
		if (!file || fscanf(file, "%*d %*s %c", &state_of) != 1 || state_of == 'Z') {
			if (file)
				fclose(file);
			break;
		}
		fclose(file);
		assert_true(tries < 100000);
	}
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, tree_make, tree_remove)

int main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(the_healthy_have_nothing),
		TEST(each_fault_is_named),
		TEST(siblings_that_are_off),
		TEST(hidden_siblings_are_named),
		TEST(an_exchange_ends),
		TEST(an_exchange_takes_time),
		TEST(a_single_node_may_be_balanced),
		TEST(nodes_that_are_not_ours_are_told_by_their_cause),
		TEST(nothing_to_see_is_unknown),
		TEST(a_full_disk_is_an_error),
		TEST(counters_are_tried),
		TEST(likwid_counts_by_registers_or_by_perf_event),
		TEST(likwid_has_a_daemon),
		TEST(python_is_tried),
		TEST(python_may_hang),
	};

	return cmocka_run_group_tests(tests, open_machine, close_machine);
}
