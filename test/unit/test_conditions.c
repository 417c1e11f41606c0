/* SPDX-License-Identifier: Apache-2.0 */
/* Changes since the run began are named, and nothing else. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "machine/provenance/provenance.h"
#include "tree.h"

#define CPU   "/sys/devices/system/cpu/"
#define THP   "/sys/kernel/mm/transparent_hugepage/"
#define JOB   "/cgroup/job/"
#define GIB   "/sys/kernel/mm/hugepages/hugepages-1048576kB/"
#define MEMS  "/proc/self/status"
#define CLOCK "/sys/devices/system/clocksource/clocksource0/current_clocksource"
#define NUMA  "/proc/sys/kernel/numa_balancing"

static const struct file at_start[] = {
	{ "/proc/self/cgroup", "0::/job\n" },
	{ "/proc/self/mountinfo", "30 1 0:26 / /cgroup rw - cgroup2 cgroup2 rw\n" },
	{ JOB "cpu.max", "max 100000\n" },
	{ JOB "cpuset.cpus.effective", "0-3\n" },
	{ JOB "memory.max", "max\n" },
	{ CPU "online", "0-3\n" },
	{ CPU "cpu0/cpufreq/scaling_governor", "performance\n" },
	{ CPU "cpu0/cpufreq/scaling_max_freq", "3000000\n" },
	{ CPU "cpufreq/boost", "1\n" },
	{ CLOCK, "tsc\n" },
	{ "/sys/devices/system/node/has_memory", "0-1\n" },
	{ MEMS, "Name:\tlocus\nMems_allowed_list:\t0-1\n" },
	{ "/proc/sys/vm/nr_hugepages", "512\n" },
	{ GIB "nr_hugepages", "2\n" },
	{ NUMA, "0\n" },
	{ THP "enabled", "[always] madvise never\n" },
	{ THP "defrag", "always [madvise] never\n" },
	{ 0 },
};

static struct conditions conditions;

static void expect(enum conditions_of of, const char *text)
{
	char *cause = conditions_cause(&conditions, of);

	if (text)
		assert_string_equal(cause, text);
	else
		assert_null(cause);
	free(cause);
}

static void begin(void)
{
	conditions_free(&conditions);
	put_files(at_start);
	conditions_read(root, &conditions);
}

static void test_without_a_change_nothing_is_named(void **state)
{
	(void)state;
	begin();
	for (unsigned of = CONDITIONS_CPUS; of <= CONDITIONS_PACE; of *= 2)
		expect(of, NULL);
}

static void test_each_change_is_named_where_it_may_be_the_cause(void **state)
{
	static const struct {
		struct file now;
		unsigned of;
		const char *text;
	} rows[] = {
		{ { CPU "online", "0,2-3\n" },
		  CONDITIONS_CPUS,
		  "the CPUs online changed from 0-3 to 0,2-3 during the run" },
		{ { JOB "cpuset.cpus.effective", "0-1\n" },
		  CONDITIONS_CPUS,
		  "the CPUs of the cpuset changed from 0-3 to 0-1 during the run" },
		{ { MEMS, "Name:\tlocus\nMems_allowed_list:\t0\n" },
		  CONDITIONS_MEMORY | CONDITIONS_PLACES,
		  "the nodes that the cpuset allows changed from 0-1 to 0 during the run" },
		{ { "/sys/devices/system/node/has_memory", "0\n" },
		  CONDITIONS_MEMORY | CONDITIONS_PLACES,
		  "the nodes with memory changed from 0-1 to 0 during the run" },
		{ { JOB "memory.max", "67108864\n" },
		  CONDITIONS_MEMORY,
		  "the cgroup's limit of memory changed from unlimited to 64 MiB during the run" },
		{ { "/proc/sys/vm/nr_hugepages", "0\n" },
		  CONDITIONS_MEMORY,
		  "vm.nr_hugepages changed from 512 to 0 during the run" },
		{ { GIB "nr_hugepages", "1\n" },
		  CONDITIONS_MEMORY,
		  "the reserved pages of 1 GiB changed from 2 to 1 during the run" },
		{ { NUMA, "1\n" },
		  CONDITIONS_PLACES,
		  "numa_balancing changed from 0 to 1 during the run: the kernel moves pages" },
		{ { THP "enabled", "always madvise [never]\n" },
		  CONDITIONS_MEMORY | CONDITIONS_HUGE,
		  "transparent_hugepage/enabled changed from always to never during the run" },
		{ { THP "defrag", "always madvise [never]\n" },
		  CONDITIONS_HUGE,
		  "transparent_hugepage/defrag changed from madvise to never during the run" },
		{ { JOB "cpu.max", "5000 100000\n" },
		  CONDITIONS_PACE,
		  "the cgroup's CPU quota changed from none to 5 % of a CPU during the run" },
		{ { CPU "cpu0/cpufreq/scaling_governor", "powersave\n" },
		  CONDITIONS_PACE,
		  "the frequency governor changed from performance to powersave during the run" },
		{ { CPU "cpu0/cpufreq/scaling_max_freq", "800000\n" },
		  CONDITIONS_PACE,
		  "the highest frequency (kHz) changed from 3000000 to 800000 during the run" },
		{ { CLOCK, "hpet\n" },
		  CONDITIONS_PACE,
		  "the kernel's clock source changed from tsc to hpet during the run" },
		{ { CPU "cpufreq/boost", "0\n" },
		  CONDITIONS_PACE,
		  "turbo changed from on to off during the run" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		begin();
		put_file(rows[i].now.path, rows[i].now.text);
		for (unsigned of = CONDITIONS_CPUS; of <= CONDITIONS_PACE; of *= 2)
			expect(of, rows[i].of & of ? rows[i].text : NULL);
	}
}

static void test_several_changes_are_named_in_turn(void **state)
{
	(void)state;
	begin();
	put_file(CPU "online", "0-2\n");
	put_file(JOB "cpuset.cpus.effective", "0-2\n");
	expect(CONDITIONS_CPUS, "the CPUs online changed from 0-3 to 0-2 during the run; "
				"the CPUs of the cpuset changed from 0-3 to 0-2 during the run");
}

/* The kernel may have moved pages from the beginning. */
static void test_balancing_is_named_also_if_it_was_on(void **state)
{
	(void)state;
	put_file(NUMA, "1\n");
	conditions_free(&conditions);
	conditions_read(root, &conditions);
	expect(CONDITIONS_PLACES, "numa_balancing is 1: the kernel moves pages");
	expect(CONDITIONS_MEMORY, NULL);
	put_file(NUMA, "0\n");
	expect(CONDITIONS_PLACES, "numa_balancing changed from 1 to 0 during the run");
}

/* A setting that cannot be read is unknown, not changed. */
static void test_what_is_hidden_is_no_change(void **state)
{
	(void)state;
	begin();
	remove(in_tree(CPU "online"));
	remove(in_tree(MEMS));
	expect(CONDITIONS_CPUS, NULL);
	expect(CONDITIONS_PLACES, NULL);
	conditions_free(&conditions);
	expect(CONDITIONS_PACE, NULL);
	assert_null(conditions_cause(NULL, CONDITIONS_CPUS));
	assert_null(conditions_quota(NULL, 2));
}

static void expect_quota(unsigned threads, const char *text)
{
	char *quota = conditions_quota(&conditions, threads);

	if (text)
		assert_string_equal(quota, text);
	else
		assert_null(quota);
	free(quota);
}

static void test_a_quota_below_the_threads_is_named(void **state)
{
	(void)state;
	begin();
	expect_quota(1, NULL);
	put_file(JOB "cpu.max", "5000 100000\n");
	expect_quota(1, "the cgroup gives 5 % of a CPU (cpu.max 5000 100000)");
	put_file(JOB "cpu.max", "150000 100000\n");
	expect_quota(1, NULL);
	expect_quota(2, "the cgroup gives 1.5 CPUs (cpu.max 150000 100000)");
	put_file("/proc/self/cgroup", "4:cpu,cpuacct:/job\n");
	put_file("/proc/self/mountinfo", "30 1 0:26 / /cgroup rw - cgroup cgroup rw,cpu,cpuacct\n");
	put_file(JOB "cpu.cfs_quota_us", "50000\n");
	put_file(JOB "cpu.cfs_period_us", "100000\n");
	expect_quota(1,
		     "the cgroup gives 50 % of a CPU (cpu.cfs_quota_us and period 50000 100000)");
}

static int clean_up(void **state)
{
	conditions_free(&conditions);
	return tree_remove(state);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_without_a_change_nothing_is_named),
		cmocka_unit_test(test_each_change_is_named_where_it_may_be_the_cause),
		cmocka_unit_test(test_several_changes_are_named_in_turn),
		cmocka_unit_test(test_balancing_is_named_also_if_it_was_on),
		cmocka_unit_test(test_what_is_hidden_is_no_change),
		cmocka_unit_test(test_a_quota_below_the_threads_is_named),
	};

	return cmocka_run_group_tests(tests, tree_make, clean_up);
}
