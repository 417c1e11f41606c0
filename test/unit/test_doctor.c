/* SPDX-License-Identifier: Apache-2.0 */
/* The doctor: each complaint and its absence, on copies of /proc and /sys. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "commands/doctor/doctor.h"
#include "machine/topology/topology.h"
#include "opinion.h"
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

/* One change, and the resulting complaint. */
static const struct {
	const char *path, *text; /* text NULL: the file is gone */
	/* the expected line; a part of the command under it, or NULL */
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
	  NULL }, /* the third node has no memory */
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
	/* Of Arm's many sizes, only those that can be requested matter. */
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
	  "[ok] perf_event_paranoid  2: users may count only their own processes, in user space",
	  NULL },
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

#define TEST(name) cmocka_unit_test_setup_teardown(name, tree_make, tree_remove)

int main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(the_healthy_have_nothing),
		TEST(each_fault_is_named),
		TEST(siblings_that_are_off),
		TEST(a_single_node_may_be_balanced),
		TEST(nodes_that_are_not_ours_are_told_by_their_cause),
		TEST(nothing_to_see_is_unknown),
		TEST(a_full_disk_is_an_error),
	};

	return cmocka_run_group_tests(tests, open_machine, close_machine);
}
