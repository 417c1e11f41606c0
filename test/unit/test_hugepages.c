/* SPDX-License-Identifier: Apache-2.0 */
/* Pools of huge pages, what control groups leave of them, and CPU quotas. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>
#include <cmocka.h>

#include "machine/memory/huge.h"
#include "machine/topology/topology.h"
#include "tree.h"

#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))
#define GIB	      (UINT64_C(1) << 30)
#define MIB	      (UINT64_C(1) << 20)
/* systemd, unified: a service in a slice. */
#define V2_MOUNT                                                            \
	"35 25 0:30 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 " \
	"rw,nsdelegate,memory_recursiveprot\n"
#define V2    "/sys/fs/cgroup"
#define NODES "/sys/devices/system/node"

#define HUGE "/sys/kernel/mm/hugepages"

static const struct file huge[] = {
	{ HUGE "/hugepages-1048576kB/nr_hugepages", "4\n" },
	{ HUGE "/hugepages-1048576kB/free_hugepages", "3\n" },
	{ HUGE "/hugepages-1048576kB/resv_hugepages", "1\n" },
	{ HUGE "/hugepages-2048kB/nr_hugepages", "512\n" },
	{ HUGE "/hugepages-2048kB/free_hugepages", "500\n" },
	{ HUGE "/hugepages-2048kB/nr_overcommit_hugepages", "64\n" },
	{ HUGE "/hugepages-2048kB/surplus_hugepages", "14\n" },
	{ NODES "/node1/hugepages/hugepages-2048kB/nr_hugepages", "256\n" },
	{ NODES "/node1/hugepages/hugepages-2048kB/free_hugepages", "250\n" },
	{ 0 },
};

static void huge_pages_are_counted(void **state)
{
	size_t sizes[MOST_HUGE_SIZES];
	struct huge_pages p;

	(void)state;
	assert_int_equal(huge_page_sizes(root, sizes), 0);
	assert_int_equal(huge_pages_read(root, 2 * MIB, ALL_NODES, &p), -1);
	assert_int_equal(errno, ENOENT);
	put_files(huge);
	assert_int_equal(huge_page_sizes(root, sizes), 2);
	assert_true(sizes[0] == 2 * MIB && sizes[1] == GIB);
	assert_int_equal(huge_pages_read(root, GIB, ALL_NODES, &p), 0);
	assert_true(p.total == 4 && p.free == 3 && p.available == 2);
	assert_int_equal(huge_pages_read(root, 2 * MIB, ALL_NODES, &p), 0);
	assert_true(p.total == 512 && p.free == 500 && p.available == 550);
	assert_int_equal(huge_pages_read(root, 2 * MIB, 1, &p), 0);
	assert_true(p.total == 256 && p.free == 250);
	assert_int_equal(huge_pages_read(root, 2 * MIB, 0, &p), -1);
}

static void cgroups_limit_huge_pages(void **state)
{
	static const struct file limited[] = {
		{ "/proc/self/cgroup", "0::/job\n" },
		{ "/proc/self/mountinfo", V2_MOUNT },
		{ V2 "/job/hugetlb.2MB.max", "209715200\n" },
		{ V2 "/job/hugetlb.2MB.current", "104857600\n" },
		{ V2 "/job/hugetlb.1GB.max", "max\n" },
		{ 0 },
	};
	struct memory_limit l;
	struct huge_pages p;

	(void)state;
	put_files(huge);
	huge_limit_read(root, 2 * MIB, &l);
	assert_true(l.available == NO_LIMIT);
	put_files(limited);
	huge_limit_read(root, 2 * MIB, &l);
	assert_true(l.available == 100 * MIB);
	assert_string_equal(l.what, "hugetlb.2MB.max 200 MiB of cgroup /job, with 100 MiB in use");
	assert_int_equal(huge_pages_read(root, 2 * MIB, ALL_NODES, &p), 0);
	assert_int_equal(p.available, 50);
	assert_int_equal(huge_pages_read(root, GIB, ALL_NODES, &p), 0);
	assert_int_equal(p.available, 2);
}

static void quotas_are_read(void **state)
{
	static const struct {
		const char *text;
		double cpus;
	} rows[] = { { "max 100000", INFINITY }, { "50000 100000", 0.5 }, { "100000 0", INFINITY },
		     { "", INFINITY },		 { "x y", INFINITY },	  { "100000", INFINITY },
		     { "-1 100000", INFINITY } };

	(void)state;
	put_file("/proc/self/cgroup", "0::/\n");
	put_file("/proc/self/mountinfo", V2_MOUNT);
	for (unsigned i = 0; i < LENGTH(rows); i++) {
		struct cgroup c;

		put_file(V2 "/cpu.max", rows[i].text);
		cgroup_read(root, &c);
		assert_true(c.cpu_quota == rows[i].cpus);
		cgroup_free(&c);
	}
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, tree_make, tree_remove)

int main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(huge_pages_are_counted),
		TEST(cgroups_limit_huge_pages),
		TEST(quotas_are_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
