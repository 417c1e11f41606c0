/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The memory of each node, its limits, and how much of it a trial may use: computed from made-up
 * files of /proc and /sys.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>
#include <numaif.h>
#include <cmocka.h>

#include "machine/memory/arena.h"
#include "machine/limits/limits.h"
#include "machine/memory/region.h"
#include "machine/topology/load.h"
#include "machine/topology/topology.h"
#include "tree.h"

#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))
#define MIB	      (UINT64_C(1) << 20)
#define NODES	      "/sys/devices/system/node"
#define MAPS	      "/proc/self/numa_maps"

/* ---- policies ---- */

static void policies_are_read(void **state)
{
	static const struct {
		const char *line, *text;
		unsigned kind;
		const char *nodes; /* NULL: names none */
	} rows[] = {
		{ "55d0c0de0000 default file=/bin/locus mapped=9", "default",
		  MEMORY_POLICY_FIRST_TOUCH, NULL },
		{ "55d0c0de0000 local file=/bin/locus mapped=9", "local", MEMORY_POLICY_FIRST_TOUCH,
		  NULL },
		{ "55d0c0de0000 bind:3 file=/bin/locus mapped=9", "bind:3", MEMORY_POLICY_BOUND,
		  "3" },
		{ "55d0c0de0000 bind=static:0-1,3 file=/bin/locus", "bind=static:0-1,3",
		  MEMORY_POLICY_BOUND, "0-1,3" },
		{ "55d0c0de0000 prefer:1 file=/bin/locus", "prefer:1", MEMORY_POLICY_STEERED, "1" },
		{ "55d0c0de0000 prefer (many):0-1 file=/bin/locus", "prefer (many):0-1",
		  MEMORY_POLICY_STEERED, "0-1" },
		{ "55d0c0de0000 interleave:0-3 file=/bin/locus", "interleave:0-3",
		  MEMORY_POLICY_STEERED, "0-3" },
		{ "55d0c0de0000 weighted interleave:0,2 file=/bin/locus", "weighted interleave:0,2",
		  MEMORY_POLICY_STEERED, "0,2" },
		{ "55d0c0de0000", "", MEMORY_POLICY_FIRST_TOUCH, NULL },
		{ "55d0c0de0000 bind", "bind", MEMORY_POLICY_BOUND, NULL },
		{ "55d0c0de0000 bind:x-", "bind:x-", MEMORY_POLICY_BOUND, NULL },
		{ "", "", MEMORY_POLICY_FIRST_TOUCH, NULL },
	};
	struct memory_policy p;

	(void)state;
	memory_policy_read(root, &p);
	assert_true(p.kind == MEMORY_POLICY_FIRST_TOUCH && !*p.text && errno == ENOENT);
	for (unsigned i = 0; i < LENGTH(rows); i++) {
		char text[1024], *list = NULL;
		hwloc_bitmap_t nodes;

		snprintf(text, sizeof(text), "%s\n7f00c0de0000 bind:7 anon=1 dirty=1 N7=1\n",
			 rows[i].line);
		put_file(MAPS, *rows[i].line ? text : "");
		memory_policy_read(root, &p);
		assert_string_equal(p.text, rows[i].text);
		assert_int_equal(p.kind, rows[i].kind);
		nodes = memory_policy_nodes(&p);
		assert_int_equal(!nodes, !rows[i].nodes);
		if (!nodes)
			continue;
		hwloc_bitmap_list_asprintf(&list, nodes);
		assert_string_equal(list, rows[i].nodes);
		free(list);
		hwloc_bitmap_free(nodes);
	}
}

/* ---- memory ---- */

/* Node 0 is half full; half of node 1 is cached files and little of it is free; node 2 is small. */
#define MEMINFO(node, total, unused, files)                                                      \
	"Node " node " MemTotal: " total " kB\nNode " node " MemFree: " unused " kB\nNode " node \
	" Inactive(file): " files " kB\n"
static const struct file three_nodes[] = {
	{ "/proc/meminfo",
	  "MemTotal: 4456448 kB\nMemFree: 1310720 kB\nMemAvailable: 2500000 kB\n" },
	{ "/proc/self/status", "Mems_allowed_list:\t0-2\n" },
	{ MAPS, "55d0c0de0000 default file=/bin/locus\n" },
	{ NODES "/online", "0-2\n" },
	{ NODES "/has_memory", "0-2\n" },
	{ NODES "/node0/meminfo", MEMINFO("0", "2097152", "1048576", "0") },
	{ NODES "/node1/meminfo", MEMINFO("1", "2097152", "65536", "1048576") },
	{ NODES "/node2/meminfo", MEMINFO("2", "262144", "196608", "0") },
	{ 0 },
};

/* A zone's reserve may exceed its free pages, as in zone DMA: such a zone can spare nothing. */
static const struct file zones[] = {
	{ "/proc/zoneinfo", "Node 0, zone      DMA\n  per-node stats\n      nr_inactive_anon 5\n  "
			    "pages free     3840\n        boost    0\n        min      8\n"
			    "        low      11\n        high     14\n        protection: (0, "
			    "1919, 3865, 3865, 3865)\n      nr_free_pages 3840\n"
			    "Node 0, zone   Normal\n  pages free     258304\n        min      "
			    "1000\n        low      2304\n        high     14\n"
			    "        protection: (0, 0, 0, 0, 0)\n"
			    "Node 1, zone   Normal\n  pages free     16384\n        min      "
			    "1000\n        low      2048\n        high     14\n"
			    "        protection: (0, 0, 0, 0, 0)\n"
			    "Node 2, zone   Normal\n  pages free     49152\n        min      "
			    "1000\n        low      1024\n        high     14\n"
			    "        protection: (0, 0, 0, 0, 0)\n"
			    "Node 2, zone  Movable\n  pages free     0\n        min      32\n      "
			    "  low      32\n        high     32\n"
			    "        protection: (0, 0, 0, 0, 0)\n" },
	{ 0 },
};

static void nodes_have_something_to_spare(void **state)
{
	struct node_memory m;
	const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);

	(void)state;
	put_files(three_nodes);
	assert_int_equal(node_memory_read(root, 1, &m), 0);
	assert_true(m.total == 2048 * MIB && m.free == 64 * MIB && m.spare == 64 * MIB &&
		    m.available == 1088 * MIB);
	if (page != 4096)
		skip(); /* zoneinfo counts pages, which have 4 KiB in the sample */
	put_files(zones);
	assert_int_equal(node_memory_read(root, 0, &m), 0);
	assert_true(m.free == 1024 * MIB && m.spare == 1000 * MIB && m.available == 1000 * MIB);
	assert_int_equal(node_memory_read(root, 1, &m), 0);
	assert_true(m.spare == 56 * MIB && m.available == 1080 * MIB);
	assert_int_equal(node_memory_read(root, 2, &m), 0);
	assert_true(m.spare == 188 * MIB);
	put_file("/proc/sys/vm/zone_reclaim_mode", "1\n");
	assert_int_equal(node_memory_read(root, 1, &m), 0);
	assert_true(m.spare == 1080 * MIB);
	assert_int_equal(node_memory_read(root, ALL_NODES, &m), 0);
	assert_true(m.total == 4352 * MIB);
}

static void policies_that_bind_are_limits(void **state)
{
	static const struct {
		const char *policy, *cpuset, *what; /* what NULL: MemAvailable */
		uint64_t mib;
	} rows[] = {
		{ "bind:2", "0-2",
		  "the memory available on node 2, the only one that the memory policy bind:2 "
		  "allows",
		  192 },
		{ "bind:0,2", "0-2",
		  "the memory available on nodes 0,2, the only ones that the memory policy "
		  "bind:0,2 allows",
		  1216 },
		{ "bind:0-1", "0-1",
		  "the memory available on nodes 0-1, the only ones that the cpuset allows", 2112 },
		{ "bind:1-2", "0-1",
		  "the memory available on node 1, the only one that the memory policy bind:1-2 "
		  "allows",
		  1088 },
		{ "bind:0-2", "0-2", NULL, 0 },
		{ "bind:x", "0-2", NULL, 0 },
		{ "prefer:2", "0-2", NULL, 0 },
		{ "interleave:0-1", "0-2", NULL, 0 },
	};
	char text[256];

	(void)state;
	put_files(three_nodes);
	for (unsigned i = 0; i < LENGTH(rows); i++) {
		struct memory_limit l;

		snprintf(text, sizeof(text), "55d0c0de0000 %s file=/bin/locus\n", rows[i].policy);
		put_file(MAPS, text);
		snprintf(text, sizeof(text), "Mems_allowed_list:\t%s\n", rows[i].cpuset);
		put_file("/proc/self/status", text);
		memory_limit_read(root, &l);
		if (rows[i].what)
			assert_string_equal(l.what, rows[i].what);
		else
			assert_non_null(strstr(l.what, "MemAvailable"));
		assert_true(!rows[i].what || l.available == rows[i].mib * MIB);
	}
}

/* A limit of zero is a limit; only an unreadable one is unknown, and MemAvailable is used. */
static void a_full_node_leaves_nothing(void **state)
{
	struct memory_limit l;

	(void)state;
	put_files(three_nodes);
	put_file(MAPS, "55d0c0de0000 bind:2 file=/bin/locus\n");
	put_file(NODES "/node2/meminfo", MEMINFO("2", "262144", "0", "0"));
	memory_limit_read(root, &l);
	assert_true(l.available == 0);
	/* the node's meminfo is gone: its memory is unknown, so it is no limit */
	remove(in_tree(NODES "/node2/meminfo"));
	memory_limit_read(root, &l);
	assert_non_null(strstr(l.what, "MemAvailable"));
}

/* ---- room ---- */

/* Containers without CAP_SYS_NICE forbid set_mempolicy (seccomp). */
static void skip_unless_nodes_can_be_chosen(void)
{
	if (!set_mempolicy(MPOL_DEFAULT, NULL, 0))
		return;
	print_message("set_mempolicy is forbidden here: %s\n", strerror(errno));
	skip();
}

/* MiB of a region by placement, on the machine above. */
struct lie {
	unsigned on[3], even; /* claimed on each node; spread evenly over all */
	unsigned bound;	      /* bound to node 0, the only node of every test machine */
};

/* A small machine may refuse to map this much, although the test never touches it. */
static struct region *map(struct arena *a, const char *name, unsigned mib)
{
	struct region *r = region_map(a, name, mib * MIB, PAGES_BASE);

	if (!r) {
		print_message("%u MiB can't be mapped here: %s\n", mib, strerror(errno));
		skip();
	}
	return r;
}

static void claim(struct arena *a, const struct lie *l)
{
	for (int node = 0; node < 3; node++)
		if (l->on[node])
			region_home(map(a, "data", l->on[node]), 0, l->on[node] * MIB, node);
	if (l->even)
		region_even(map(a, "even", l->even));
	if (l->bound)
		assert_int_equal(region_bind(map(a, "bound", l->bound), 0), 0);
}

static void data_need_room_where_they_are_to_lie(void **state)
{
	static const struct {
		struct lie lie;
		const char *refusal; /* NULL: there is room */
	} rows[] = {
		{ { .on = { 1000 } }, NULL },
		{ { .on = { 1020 } },
		  "it needs 1020 MiB, and 8 MiB for page tables and samples, on node 0, which "
		  "has 1 GiB available of 2 GiB; "
		  "choose a smaller size" },
		{ { .on = { 900, 0, 180 } }, NULL },
		{ { .on = { 900, 0, 200 } },
		  "it needs 200 MiB, and 4.8 MiB for page tables and samples, on node 2, which "
		  "has 192 MiB available "
		  "of 256 MiB; choose a smaller size" },
		{ { .on = { 0, 50 } }, NULL },
		{ { .on = { 0, 100 } },
		  "it needs 100 MiB, and 4.4 MiB for page tables and samples, on node 1, which "
		  "has 64 MiB free of 2 GiB, and 1 GiB of cached "
		  "files, for which first touch goes to another node (as root: echo 3 > "
		  "/proc/sys/vm/drop_caches); choose a smaller size" },
		{ { .even = 150 }, NULL },
		{ { .even = 300 },
		  "it needs 100 MiB, and 4.4 MiB for page tables and samples, on node 1, which "
		  "has 64 MiB free of 2 GiB, and " },
		{ { .bound = 1000 }, NULL },
		{ { .bound = 600, .on = { 600 } }, "it needs 1.2 GiB, and 8.7 MiB " },
		{ { .bound = 1030 }, "it needs 1 GiB, and 8 MiB " },
		{ { .even = 0 }, NULL },
	};
	const char *error;
	struct machine *m = machine_open("node:3 core:1 pu:1", &error);

	(void)state;
	skip_unless_nodes_can_be_chosen();
	assert_non_null(m);
	put_files(three_nodes);
	for (unsigned i = 0; i < LENGTH(rows); i++) {
		struct arena *a = arena_open_at(root, m);
		int64_t need[6];
		int refused;

		claim(a, &rows[i].lie);
		arena_need(a, need);
		errno = 0;
		refused = arena_room(a, need);
		assert_int_equal(refused, rows[i].refusal ? -1 : 0);
		if (rows[i].refusal) {
			assert_int_equal(errno, ENOMEM);
			assert_non_null(arena_refusal(a));
			if (strncmp(arena_refusal(a), rows[i].refusal, strlen(rows[i].refusal)))
				fail_msg("%s", arena_refusal(a));
		}
		arena_close(a);
	}
	machine_close(m);
}

/* First touch drops cached files only if no other node has free memory to fall back to. */
static void files_give_way_where_all_nodes_are_full_of_them(void **state)
{
	const char *error;
	struct machine *m = machine_open("node:3 core:1 pu:1", &error);
	struct arena *a;
	int64_t need[6];

	(void)state;
	put_files(three_nodes);
	put_file(NODES "/node0/meminfo", MEMINFO("0", "2097152", "0", "1048576"));
	put_file(NODES "/node2/meminfo", MEMINFO("2", "262144", "0", "196608"));
	a = arena_open_at(root, m);
	claim(a, &(struct lie){ .on = { 0, 100 } });
	arena_need(a, need);
	assert_int_equal(arena_room(a, need), 0);
	need[2] = 1090 * (int64_t)MIB;
	assert_int_equal(arena_room(a, need), -1);
	arena_close(a);
	/* the node's meminfo is gone: its memory is unknown, and nothing is refused */
	remove(in_tree(NODES "/node1/meminfo"));
	a = arena_open_at(root, m);
	claim(a, &(struct lie){ .on = { 0, 5000 } });
	arena_need(a, need);
	assert_int_equal(arena_room(a, need), 0);
	arena_close(a);
	machine_close(m);
}

static void words_on_a_full_node_are_refused_before_they_are_touched(void **state)
{
	const char *error;
	struct machine *m = machine_open("node:3 core:1 pu:1", &error);
	struct arena *a;

	(void)state;
	skip_unless_nodes_can_be_chosen();
	put_files(three_nodes);
	put_file(NODES "/node0/meminfo", MEMINFO("0", "2097152", "1024", "0"));
	a = arena_open_at(root, m);
	errno = 0;
	assert_null(region_on_node(a, "words", 64, 0));
	assert_int_equal(errno, ENOMEM);
	assert_non_null(strstr(arena_refusal(a), "it needs 4 KiB, and 4 MiB for page tables and "
						 "samples, on node 0, which has 1 MiB available"));
	arena_close(a);
	machine_close(m);
}

/* ---- nodes without memory ---- */

static void first_touch_goes_to_the_nearest_node_with_memory(void **state)
{
	static const unsigned long long lengths[] = { 10, 20, 30, 20, 10, 15, 30, 15, 10 };
	const char *error;
	struct machine *m = machine_open("node:3 core:1 pu:1", &error);
	hwloc_obj_t nodes[3];
	hwloc_distances_add_handle_t handle;
	char text[NODE_TEXT];
	struct region *r;
	struct arena *a;
	int64_t need[6];

	(void)state;
	for (unsigned i = 0; i < 3; i++) {
		assert_int_equal(m->node[i].first_touch, i);
		nodes[i] = hwloc_get_obj_by_type(m->topology, HWLOC_OBJ_NUMANODE, i);
	}
	m->node[2].memory = 0;
	nodes_find_memory(m);
	assert_int_equal(m->node[2].first_touch, 0); /* without distances: the first node */
	handle = hwloc_distances_add_create(
		m->topology, "NUMALatency",
		HWLOC_DISTANCES_KIND_FROM_OS | HWLOC_DISTANCES_KIND_MEANS_LATENCY, 0);
	assert_non_null(handle);
	assert_int_equal(hwloc_distances_add_values(m->topology, handle, 3, nodes,
						    (hwloc_uint64_t *)lengths, 0),
			 0);
	assert_int_equal(hwloc_distances_add_commit(m->topology, handle, 0), 0);
	nodes_find_memory(m);
	assert_int_equal(m->node[2].first_touch, 1);
	assert_string_equal(node_lack(m, &m->node[2], text), "which has no memory");
	m->node[2].lack = NODE_NOT_IN_CPUSET;
	assert_string_equal(node_lack(m, &m->node[2], text),
			    "which has no memory that this process may use (cpuset)");
	m->node[2].lack = NODE_NOT_IN_POLICY;
	m->policy = (struct memory_policy){ MEMORY_POLICY_BOUND, "bind:0-1" };
	assert_string_equal(
		node_lack(m, &m->node[2], text),
		"which has no memory that this process may use (memory policy bind:0-1)");
	a = arena_open(m);
	r = region_map(a, "data", 8 * MIB, PAGES_BASE);
	region_home(r, 0, 8 * MIB, 2);
	arena_need(a, need);
	assert_int_equal(need[2], 8 * MIB);
	assert_int_equal(need[4], 0);
	assert_int_equal(region_bind(r, 2), -1);
	assert_string_equal(arena_refusal(a), "data can't lie on node 2, which has no memory that "
					      "this process may use (memory policy bind:0-1)");
	arena_close(a);
	machine_close(m);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, tree_make, tree_remove)

int main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(policies_are_read),
		TEST(nodes_have_something_to_spare),
		TEST(policies_that_bind_are_limits),
		TEST(a_full_node_leaves_nothing),
		TEST(data_need_room_where_they_are_to_lie),
		TEST(files_give_way_where_all_nodes_are_full_of_them),
		TEST(words_on_a_full_node_are_refused_before_they_are_touched),
		TEST(first_touch_goes_to_the_nearest_node_with_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
