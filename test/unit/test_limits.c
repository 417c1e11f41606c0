/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How much a process may take: samples of real machines and containers, written into a folder.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/sysfs.h"
#include "machine/limits/limits.h"
#include "machine/topology/topology.h"
#include "tree.h"

#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))
#define GIB	      (UINT64_C(1) << 30)
/* systemd, unified: a service in a slice. */
#define V2_MOUNT                                                            \
	"35 25 0:30 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 " \
	"rw,nsdelegate,memory_recursiveprot\n"
#define V2    "/sys/fs/cgroup"
#define NODES "/sys/devices/system/node"

#define MEMINFO(available)                                                                     \
	"MemTotal:       67108864 kB\nMemFree:        33554432 kB\nMemAvailable:   " available \
	" kB\n"

static const struct file plain[] = { { "/proc/meminfo", MEMINFO("41943040") }, { 0 } };

static const struct file v2_nested[] = {
	{ "/proc/self/cgroup", "0::/system.slice/job.scope\n" },
	{ "/proc/self/mountinfo", "25 1 8:1 / / rw,relatime - ext4 /dev/sda1 rw\n" V2_MOUNT },
	{ V2 "/system.slice/memory.max", "8589934592\n" },
	{ V2 "/system.slice/memory.high", "max\n" },
	{ V2 "/system.slice/memory.current", "3221225472\n" },
	{ V2 "/system.slice/memory.stat",
	  "anon 1073741824\nfile 2147483648\ninactive_file 1073741824\nactive_file "
	  "536870912\nslab_reclaimable 536870912\n" },
	{ V2 "/system.slice/cpu.max", "150000 100000\n" },
	{ V2 "/system.slice/cpuset.cpus.effective", "4-7\n" },
	{ V2 "/system.slice/job.scope/memory.max", "34359738368\n" },
	{ V2 "/system.slice/job.scope/memory.high", "max\n" },
	{ V2 "/system.slice/job.scope/memory.current", "1073741824\n" },
	{ V2 "/system.slice/job.scope/cpu.max", "max 100000\n" },
	{ 0 },
};

/* SLURM with version 1: a limit on the job, a larger one on the user. */
#define V1_MOUNTS                                                                     \
	"34 31 0:31 / /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset\n"           \
	"32 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n" \
	"35 31 0:32 / /sys/fs/cgroup/memory rw,relatime shared:3 - cgroup cgroup rw,memory\n"
#define V1 "/sys/fs/cgroup/memory"

static const struct file v1_slurm[] = {
	{ "/proc/self/cgroup", "5:cpuset:/slurm/uid_7/job_9/step_0\n4:memory:/slurm/uid_7/job_9/"
			       "step_0\n3:cpu,cpuacct:/slurm\n1:name=systemd:/x\n" },
	{ "/proc/self/mountinfo", V1_MOUNTS },
	{ V1 "/memory.limit_in_bytes", "9223372036854771712\n" },
	{ V1 "/memory.usage_in_bytes", "12884901888\n" },
	{ V1 "/slurm/memory.limit_in_bytes", "9223372036854771712\n" },
	{ V1 "/slurm/uid_7/memory.limit_in_bytes", "17179869184\n" },
	{ V1 "/slurm/uid_7/memory.usage_in_bytes", "4294967296\n" },
	{ V1 "/slurm/uid_7/memory.use_hierarchy", "1\n" },
	{ V1 "/slurm/uid_7/job_9/memory.limit_in_bytes", "6442450944\n" },
	{ V1 "/slurm/uid_7/job_9/memory.usage_in_bytes", "2147483648\n" },
	{ V1 "/slurm/uid_7/job_9/memory.stat",
	  "total_inactive_file 536870912\ntotal_active_file 536870912\ninactive_file 1\n" },
	{ V1 "/slurm/uid_7/job_9/step_0/memory.limit_in_bytes", "9223372036854771712\n" },
	{ V1 "/slurm/uid_7/job_9/step_0/memory.usage_in_bytes", "2147483648\n" },
	{ "/sys/fs/cgroup/cpu,cpuacct/slurm/cpu.cfs_quota_us", "400000\n" },
	{ "/sys/fs/cgroup/cpu,cpuacct/slurm/cpu.cfs_period_us", "100000\n" },
	{ "/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "-1\n" },
	{ "/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us", "100000\n" },
	{ "/sys/fs/cgroup/cpuset/slurm/uid_7/job_9/step_0/cpuset.effective_cpus", "2-3\n" },
	{ 0 },
};

/* Both versions are mounted: the controllers are with version 1. */
static const struct file hybrid[] = {
	{ "/proc/self/cgroup",
	  "9:name=systemd:/\n4:memory:/api/6d4a\n3:cpuset:/\n1:cpu:/\n0::/\n" },
	{ "/proc/self/mountinfo",
	  V1_MOUNTS "41 31 0:38 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw\n" },
	{ V1 "/memory.limit_in_bytes", "9223372036854771712\n" },
	{ V1 "/api/6d4a/memory.limit_in_bytes", "2147483648\n" },
	{ V1 "/api/6d4a/memory.usage_in_bytes", "1073741824\n" },
	{ "/sys/fs/cgroup/cpuset/cpuset.effective_cpus", "0-1\n" },
	{ "/sys/fs/cgroup/unified/cgroup.controllers", "\n" },
	{ 0 },
};

static struct memory_limit limit_of(const struct file *const *sets)
{
	struct memory_limit l;

	for (; *sets; sets++)
		put_files(*sets);
	memory_limit_read(root, &l);
	return l;
}

#define LIMIT(...) limit_of((const struct file *const[]){ __VA_ARGS__, NULL })

/* Each process gets its part of shared memory, and all of its own. */
static void only_what_is_shared_is_divided(void **state)
{
	static const struct file memory[] = { { "/proc/meminfo",
						"MemTotal: 16777216 kB\nMemFree: 8388608 kB\n"
						"MemAvailable: 8388608 kB\n" },
					      { 0 } };
	static const struct file ulimit[] = {
		{ "/proc/self/limits", "Max address space 536870912 unlimited bytes\n" }, { 0 }
	};
	struct limit_sharers sharers = { .host = 4 };
	uint64_t id[CGROUP_LEVELS];
	struct memory_limit l;

	(void)state;
	put_files(hybrid);
	put_files(memory);
	cgroup_ids(root, id);
	assert_true(id[0] && id[1] && id[2] && id[0] != id[1] && !id[3]);
	for (unsigned i = 0; i < 3; i++) {
		sharers.group[i].id = id[i];
		sharers.group[i].sharers = i ? 4 : 1;
	}
	/* 1 GiB of its own; a quarter of the shared 8 GiB */
	memory_limit_read_part(root, &sharers, &l);
	assert_true(l.available == 1ull << 30 && l.sharers == 1);
	sharers.group[0].sharers = 2;
	memory_limit_read_part(root, &sharers, &l);
	assert_true(l.available == 1ull << 29 && l.sharers == 2);
	sharers.group[0].sharers = 1;
	sharers.host = 16;
	memory_limit_read_part(root, &sharers, &l);
	assert_true(l.available == 1ull << 29 && l.sharers == 16);
	put_files(ulimit);
	sharers.host = 8;
	memory_limit_read_part(root, &sharers, &l);
	assert_true(l.available == 1ull << 29 && l.sharers == 1);
}

static void nothing_known_is_no_limit(void **state)
{
	struct memory_limit l;
	struct cgroup c;

	(void)state;
	memory_limit_read(root, &l);
	assert_true(l.available == NO_LIMIT);
	assert_non_null(strstr(l.what, "no known limit"));
	cgroup_read(root, &c);
	assert_int_equal(c.version, 0);
	assert_null(c.path);
	assert_null(c.cpuset);
	assert_true(c.memory_limit == NO_LIMIT && isinf(c.cpu_quota));
	cgroup_free(&c);
}

static void available_memory_binds(void **state)
{
	struct memory_limit l = LIMIT(plain);

	(void)state;
	assert_true(l.available == 40 * GIB);
	assert_non_null(strstr(l.what, "MemAvailable"));
}

static void old_kernels_name_no_available_memory(void **state)
{
	struct memory_limit l;

	(void)state;
	put_file("/proc/meminfo", "MemTotal: 4194304 kB\nMemFree: 1048576 kB\nActive(file): "
				  "1048576 kB\nInactive(file): 524288 kB\n");
	memory_limit_read(root, &l);
	assert_true(l.available == 5 * GIB / 2);
}

/* The parent has less than the child; its cached files do not count. */
static void ancestors_bind_v2(void **state)
{
	struct memory_limit l = LIMIT(plain, v2_nested);
	struct cgroup c;

	(void)state;
	assert_true(l.available == 7 * GIB);
	assert_string_equal(l.what, "memory.max 8 GiB of cgroup /system.slice, with 1 GiB in use");
	cgroup_read(root, &c);
	assert_int_equal(c.version, 2);
	assert_string_equal(c.path, "/system.slice/job.scope");
	assert_true(c.memory_limit == 8 * GIB);
	assert_true(c.cpu_quota == 1.5);
	assert_string_equal(c.cpuset, "4-7");
	cgroup_free(&c);
}

static void high_binds_like_max(void **state)
{
	static const struct file high[] = {
		{ V2 "/system.slice/job.scope/memory.high", "2147483648\n" }, { 0 }
	};
	struct memory_limit l = LIMIT(plain, v2_nested, high);

	(void)state;
	assert_true(l.available == 1 * GIB);
	assert_string_equal(
		l.what, "memory.high 2 GiB of cgroup /system.slice/job.scope, with 1 GiB in use");
}

static void more_in_use_than_allowed_leaves_nothing(void **state)
{
	static const struct file over[] = {
		{ V2 "/system.slice/job.scope/memory.max", "1048576\n" }, { 0 }
	};
	struct memory_limit l = LIMIT(plain, v2_nested, over);

	(void)state;
	assert_true(l.available == 0);
}

static void ancestors_bind_v1(void **state)
{
	struct memory_limit l = LIMIT(plain, v1_slurm);
	struct cgroup c;

	(void)state;
	assert_true(l.available == 5 * GIB);
	assert_string_equal(
		l.what,
		"memory.limit_in_bytes 6 GiB of cgroup /slurm/uid_7/job_9, with 1 GiB in use");
	cgroup_read(root, &c);
	assert_int_equal(c.version, 1);
	assert_true(c.memory_limit == 6 * GIB);
	assert_true(c.cpu_quota == 4);
	assert_string_equal(c.cpuset, "2-3");
	cgroup_free(&c);
}

/* A parent without hierarchy does not count its children's memory. */
static void flat_parents_do_not_bind(void **state)
{
	static const struct file flat[] = { { V1 "/slurm/uid_7/memory.limit_in_bytes",
					      "1048576\n" },
					    { V1 "/slurm/uid_7/memory.use_hierarchy", "0\n" },
					    { 0 } };
	struct memory_limit l = LIMIT(plain, v1_slurm, flat);

	(void)state;
	assert_true(l.available == 5 * GIB);
}

static void hybrid_systems_limit_by_v1(void **state)
{
	struct memory_limit l = LIMIT(plain, hybrid);
	struct cgroup c;

	(void)state;
	assert_true(l.available == 1 * GIB);
	cgroup_read(root, &c);
	assert_int_equal(c.version, 1);
	assert_string_equal(c.path, "/api/6d4a");
	assert_string_equal(c.cpuset, "0-1");
	assert_true(isinf(c.cpu_quota));
	assert_true(c.memory_limit == 2 * GIB);
	cgroup_free(&c);
	/* version 1 writes "none" so */
	put_file(V1 "/api/6d4a/memory.limit_in_bytes", "9223372036854771712\n");
	cgroup_read(root, &c);
	assert_true(c.memory_limit == NO_LIMIT);
	cgroup_free(&c);
}

/* In containers the path is the host's, or "/", or leads out of what is mounted. */
static void containers_are_understood(void **state)
{
	static const struct {
		const char *cgroup, *mountinfo, *limit_at;
	} rows[] = {
		{ "4:memory:/docker/abc\n",
		  "35 31 0:32 /docker/abc /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory\n",
		  V1 "/memory.limit_in_bytes" },
		{ "4:memory:/docker/abc/sub\n",
		  "35 31 0:32 /docker/abc /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory\n",
		  V1 "/sub/memory.limit_in_bytes" },
		{ "4:memory:/docker/abcdef\n",
		  "35 31 0:32 /docker/abc /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory\n",
		  V1 "/memory.limit_in_bytes" },
		{ "4:memory:/kubepods/pod1/x\n",
		  "35 31 0:32 / /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory\n",
		  V1 "/memory.limit_in_bytes" },
		{ "0::/\n", V2_MOUNT, V2 "/memory.max" },
		{ "0::/../other\n", V2_MOUNT, V2 "/memory.max" },
		{ "0::/\n", "35 25 0:30 /../../.. /sys/fs/cgroup ro - cgroup2 cgroup rw\n",
		  V2 "/memory.max" },
		{ "0::/user.slice\n", "35 25 0:30 / /mnt/my\\040groups rw - cgroup2 none rw\n",
		  "/mnt/my groups/user.slice/memory.max" },
	};

	(void)state;
	/* outside the mounted part: not one of our groups */
	put_file("/sys/fs/other/memory.max", "1\n");
	for (unsigned i = 0; i < LENGTH(rows); i++) {
		struct memory_limit l;

		put_file("/proc/self/cgroup", rows[i].cgroup);
		put_file("/proc/self/mountinfo", rows[i].mountinfo);
		put_file(rows[i].limit_at, "3221225472\n");
		memory_limit_read(root, &l);
		assert_true(l.available == 3 * GIB);
		remove(in_tree(rows[i].limit_at));
	}
}

static void ulimits_bind(void **state)
{
	static const struct file limits[] = {
		{ "/proc/self/limits",
		  "Limit                     Soft Limit           Hard Limit           Units     \n"
		  "Max data size             3221225472           unlimited            bytes     \n"
		  "Max address space         4294967296           4294967296           bytes     "
		  "\n" },
		{ "/proc/self/status",
		  "Name:\tlocus\nVmSize:\t 2097152 kB\nVmData:\t  524288 kB\n" },
		{ 0 },
	};
	struct memory_limit l = LIMIT(plain, limits);

	(void)state;
	assert_true(l.available == 2 * GIB);
	assert_string_equal(l.what, "ulimit -v 4 GiB, less what is mapped");
	put_file("/proc/self/status", "VmSize:\t 0 kB\nVmData:\t 3145728 kB\n");
	memory_limit_read(root, &l);
	assert_true(l.available == 0);
	assert_string_equal(l.what, "ulimit -d 3 GiB, less what is mapped");
}

static void strict_overcommit_binds(void **state)
{
	static const struct file strict[] = {
		{ "/proc/sys/vm/overcommit_memory", "2\n" },
		{ "/proc/meminfo",
		  MEMINFO("41943040") "CommitLimit:    8388608 kB\nCommitted_AS:   2097152 kB\n" },
		{ 0 },
	};
	struct memory_limit l = LIMIT(strict);

	(void)state;
	assert_true(l.available == 6 * GIB);
	assert_non_null(strstr(l.what, "CommitLimit 8 GiB"));
	put_file("/proc/sys/vm/overcommit_memory", "0\n");
	memory_limit_read(root, &l);
	assert_true(l.available == 40 * GIB);
}

static const struct file two_nodes[] = {
	{ NODES "/online", "0-1\n" },
	{ NODES "/has_memory", "0-1\n" },
	{ NODES "/node0/meminfo", "Node 0 MemTotal:       33554432 kB\nNode 0 MemFree:        "
				  "20971520 kB\nNode 0 Active(file):    1048576 kB\n" },
	{ NODES "/node1/meminfo", "Node 1 MemTotal:       33554432 kB\nNode 1 MemFree:        "
				  "10485760 kB\nNode 1 Inactive(file):  2097152 kB\n" },
	{ 0 },
};

static void allowed_nodes_bind(void **state)
{
	static const struct file one[] = {
		{ "/proc/self/status", "Mems_allowed:\t2\nMems_allowed_list:\t1\n" }, { 0 }
	};
	struct memory_limit l = LIMIT(plain, two_nodes, one);
	struct node_memory m;

	(void)state;
	assert_true(l.available == 12 * GIB);
	assert_non_null(strstr(l.what, "node 1,"));
	put_file("/proc/self/status", "Mems_allowed_list:\t0-1\n");
	memory_limit_read(root, &l);
	assert_true(l.available == 40 * GIB);

	assert_int_equal(node_memory_read(root, 0, &m), 0);
	assert_true(m.total == 32 * GIB && m.free == 20 * GIB && m.available == 21 * GIB);
	assert_int_equal(node_memory_read(root, 7, &m), -1);
	assert_int_equal(errno, ENOENT);
	put_file(NODES "/node1/meminfo", "");
	assert_int_equal(node_memory_read(root, 1, &m), -1);
	assert_int_equal(errno, ENODATA);
}

/* The only node of a guest may show the balloon: the machine's figure holds. */
static void a_single_node_is_the_machine(void **state)
{
	static const struct file balloon[] = {
		{ NODES "/online", "0\n" },
		{ NODES "/node0/meminfo", "Node 0 MemTotal: 1024 kB\nNode 0 MemFree: 512 kB\n" },
		{ 0 }
	};
	struct node_memory m;

	(void)state;
	put_files(plain);
	assert_int_equal(node_memory_read(root, 0, &m), 0); /* no /sys at all */
	assert_true(m.total == 64 * GIB);
	put_files(balloon);
	assert_int_equal(node_memory_read(root, 0, &m), 0);
	assert_true(m.total == 64 * GIB && m.free == 32 * GIB && m.available == 40 * GIB);
	assert_int_equal(node_memory_read(root, 1, &m), -1);
	assert_int_equal(errno, ENOENT);
}

static void this_machine_has_memory(void **state)
{
	struct memory_limit l;
	struct node_memory m;

	(void)state;
	memory_limit_read(SYSFS_ROOT, &l);
	assert_true(l.available > 0 && l.available < UINT64_C(1) << 50);
	assert_int_equal(node_memory_read(SYSFS_ROOT, 0, &m), 0);
	assert_true(m.free <= m.total);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, tree_make, tree_remove)

int main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(nothing_known_is_no_limit),
		TEST(only_what_is_shared_is_divided),
		TEST(available_memory_binds),
		TEST(old_kernels_name_no_available_memory),
		TEST(ancestors_bind_v2),
		TEST(high_binds_like_max),
		TEST(more_in_use_than_allowed_leaves_nothing),
		TEST(ancestors_bind_v1),
		TEST(flat_parents_do_not_bind),
		TEST(hybrid_systems_limit_by_v1),
		TEST(containers_are_understood),
		TEST(ulimits_bind),
		TEST(strict_overcommit_binds),
		TEST(allowed_nodes_bind),
		TEST(a_single_node_is_the_machine),
		TEST(this_machine_has_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
