/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Regions: claims about pages against what the kernel reports, also where it reports little. Most
 * tests need one node; those that need several skip on a machine with one.
 */
#include <errno.h>
#include <numaif.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "machine/memory/arena.h"
#include "machine/limits/limits.h"
#include "machine/memory/region.h"
#include "machine/topology/topology.h"
#include "machine/memory/placement.h"
#include "base/sysfs.h"

#define MIB	     ((size_t)1 << 20)
#define COUNT(array) (sizeof(array) / sizeof(*(array)))

struct world {
	struct machine *machine;
	struct arena *arena;
	int here, nowhere; /* a node with memory; a number that no node has */
	int reserved;	   /* huge pages that the test reserved, to be given back */
};

#define RESERVED "/sys/devices/system/node/node%d/hugepages/hugepages-2048kB/nr_hugepages"

/* Reserves huge pages on `here`, or gives them back; false where that can't be done. */
static bool reserve(struct world *w, int more)
{
	uint64_t before, after;
	char path[128];
	FILE *file;

	snprintf(path, sizeof(path), RESERVED, w->here);
	if (sysfs_number(SYSFS_ROOT, &before, "%s", path) || !(file = fopen(path, "w")))
		return false;
	fprintf(file, "%llu", (unsigned long long)before + (unsigned long long)more);
	if (fclose(file) || sysfs_number(SYSFS_ROOT, &after, "%s", path))
		return false;
	w->reserved += (int)(after - before);
	return after == before + (uint64_t)more;
}

static int open_world(void **state)
{
	struct world *w = calloc(1, sizeof(*w));
	const char *error;

	w->machine = machine_open(NULL, &error);
	w->arena = arena_open(w->machine);
	for (unsigned i = 0; i < w->machine->nodes; i++) {
		if (w->machine->node[i].memory && !w->machine->node[w->here].memory)
			w->here = (int)i;
		w->nowhere = w->machine->node[i].number + 1;
	}
	w->here = w->machine->node[w->here].number;
	*state = w;
	return 0;
}

static int close_world(void **state)
{
	struct world *w = *state;

	arena_close(w->arena);
	if (w->reserved)
		reserve(w, -w->reserved);
	machine_close(w->machine);
	free(w);
	return 0;
}

static void touch(struct region *r, size_t offset, size_t bytes, size_t page)
{
	for (volatile char *at = (char *)region_base(r) + offset; bytes >= page;
	     at += page, bytes -= page)
		*at = 1;
}

static struct region *map(struct world *w, size_t bytes, enum pages pages)
{
	struct region *r = region_map(w->arena, "data", bytes, pages);

	if (!r)
		fail_msg("%s", strerror(errno));
	return r;
}

static struct region *map_touched(struct world *w, size_t bytes)
{
	struct region *r = map(w, bytes, PAGES_BASE);

	region_bind(r, w->here);
	touch(r, 0, bytes, w->machine->page);
	return r;
}

static struct placement look(const struct world *w)
{
	struct placement p;

	assert_int_equal(arena_placement(w->arena, &p), 0);
	return p;
}

/* Mapping. */

static void aligned_zeroed_and_writable(void **state)
{
	struct world *w = *state;
	size_t page = w->machine->page, huge = w->machine->huge_page ? w->machine->huge_page : page;
	const struct {
		enum pages pages;
		size_t granule, asked;
	} table[] = { { PAGES_BASE, page, 1 },
		      { PAGES_BASE, page, 3 * page },
		      { PAGES_THP, huge, 1 },
		      { PAGES_THP, huge, huge + 1 },
		      { PAGES_THP, huge, 3 * huge } };

	for (size_t i = 0; i < COUNT(table); i++) {
		struct region *r = map(w, table[i].asked, table[i].pages);
		size_t bytes = region_bytes(r);
		char *base = region_base(r);

		assert_int_equal(region_granule(r), table[i].granule);
		assert_int_equal((uintptr_t)base % table[i].granule, 0);
		assert_int_equal(bytes % table[i].granule, 0);
		assert_true(bytes >= table[i].asked && bytes < table[i].asked + table[i].granule);
		assert_int_equal(base[0] | base[bytes / 2] | base[bytes - 1], 0);
		base[0] = base[bytes - 1] = 1;
	}
}

static void sizes_that_cannot_be(void **state)
{
	struct world *w = *state;

	assert_null(region_map(w->arena, "none", 0, PAGES_BASE));
	assert_int_equal(errno, EINVAL);
	for (enum pages pages = PAGES_BASE; pages <= PAGES_THP; pages++)
		for (size_t bytes = SIZE_MAX; bytes > SIZE_MAX >> 8; bytes >>= 1) {
			assert_null(region_map(w->arena, "all", bytes, pages));
			assert_int_equal(errno, ENOMEM);
		}
	assert_null(arena_refusal(w->arena));
}

static size_t virtual_pages(void)
{
	size_t pages = 0;
	FILE *file = fopen("/proc/self/statm", "r");

	assert_int_equal(fscanf(file, "%zu", &pages), 1);
	fclose(file);
	return pages;
}

static void closing_unmaps(void **state)
{
	struct world *w = *state;
	size_t page = w->machine->page;
	unsigned char there;
	char *base;

	map(w, 8 * page, PAGES_THP);
	base = region_base(map_touched(w, 8 * page));
	assert_int_equal(mincore(base, page, &there), 0);
	arena_close(w->arena);
	for (char *at = base - page; at <= base + 8 * page; at += page) {
		assert_int_equal(mincore(at, page, &there), -1);
		assert_int_equal(errno, ENOMEM);
	}
	w->arena = arena_open(w->machine);
}

/* Runs part(world, shared) in a child process; returns its wait status. */
static int apart(void (*part)(struct world *, void *), struct world *w, void *shared)
{
	int status;
	pid_t child;

	fflush(NULL); /* else the child would print the buffered output a second time */
	child = fork();
	if (!child) {
		part(w, shared);
		exit(0); /* not _exit(), which would lose the child's coverage data */
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	return status;
}

static void run_over_the_end(struct world *w, void *at)
{
	(void)w;
	signal(SIGSEGV, SIG_DFL);
	*(volatile char *)at = 1;
}

static void ends_are_guarded(void **state)
{
	struct world *w = *state;

	for (enum pages pages = PAGES_BASE; pages <= PAGES_THP; pages++) {
		struct region *r = map(w, MIB, pages);
		char *base = region_base(r), *end = base + region_bytes(r);

		assert_int_equal(WTERMSIG(apart(run_over_the_end, w, base - 1)), SIGSEGV);
		assert_int_equal(WTERMSIG(apart(run_over_the_end, w, end)), SIGSEGV);
		assert_int_equal(apart(run_over_the_end, w, end - 1), 0);
	}
}

static void reasons_are_kept(void **state)
{
	struct world *w = *state;

	assert_null(arena_refusal(w->arena));
	errno = EDOM;
	assert_null(arena_cannot(w->arena, "no %s for %d", "room", 1));
	assert_int_equal(errno, EDOM);
	assert_string_equal(arena_refusal(w->arena), "no room for 1");
	assert_null(arena_cannot(w->arena, "nor for %d", 2));
	assert_string_equal(arena_refusal(w->arena), "nor for 2");
}

/*
 * Containers without CAP_SYS_NICE forbid move_pages (seccomp): then nodes of single pages can't be
 * read, nor pages moved.
 */
static void needs_move_pages(void)
{
	if (!move_pages(0, 0, NULL, NULL, NULL, 0))
		return;
	print_message("move_pages is forbidden here: %s\n", strerror(errno));
	skip();
}

/* Claims. */

static void claims_that_hold(void **state)
{
	struct world *w = *state;
	size_t page = w->machine->page, pages = 1000;
	struct region *r = map_touched(w, pages * page);
	struct placement p;

	needs_move_pages();
	region_home(r, 0, pages * page, w->here);
	region_user(r, 0, pages / 2 * page, w->here);
	region_user(r, pages / 2 * page, pages / 4 * page, w->nowhere);
	p = look(w);
	assert_int_equal(p.how, PLACEMENT_VERIFIED);
	assert_null(p.why_not);
	assert_int_equal(p.page, page);
	assert_int_equal(p.nodes, w->nowhere);
	assert_int_equal(p.pages, pages);
	assert_int_equal(p.on_node[w->here], pages);
	assert_int_equal(p.unmapped, 0);
	assert_int_equal(p.misplaced, 0);
	assert_int_equal(p.used, pages / 2 + pages / 4);
	assert_int_equal(p.local, pages / 2);
	assert_int_equal(p.huge, 0);
	assert_int_equal(p.huge_page, 0);
	placement_free(&p);
}

static void claims_that_do_not(void **state)
{
	struct world *w = *state;
	size_t page = w->machine->page;
	struct region *r = map_touched(w, 100 * page);
	struct placement p;

	region_home(r, 0, 100 * page, w->here);
	region_home(r, 10 * page, 7 * page, w->nowhere);
	region_home(r, 50 * page, 5 * page, INT32_MAX);
	region_home(r, 60 * page, 10 * page, w->nowhere);
	region_home(r, 60 * page, 10 * page, ANY_NODE);
	p = look(w);
	assert_int_equal(p.misplaced, 12);
	assert_int_equal(p.on_node[w->here], 100);
	placement_free(&p);
}

static void pages_not_there(void **state)
{
	struct world *w = *state;
	size_t page = w->machine->page;
	struct region *r = map(w, 100 * page, PAGES_BASE);
	volatile char *base = region_base(r);
	struct placement p;

	region_home(r, 0, 60 * page, w->here);
	region_bind(r, w->here);
	touch(r, 0, 40 * page, page);
	/* only read: mapped to the kernel's zero page, which lies on no node */
	(void)base[50 * page];
	p = look(w);
	assert_int_equal(p.pages, 100);
	assert_int_equal(p.unmapped, 60);
	assert_int_equal(p.on_node[w->here], 40);
	assert_int_equal(p.misplaced, 20);
	placement_free(&p);
}

/* PROT_NONE stands for NUMA balancing, which withdraws access from pages until the next use. */
static void pages_withdrawn(void **state)
{
	struct world *w = *state;
	size_t page = w->machine->page;
	struct region *r = map_touched(w, 100 * page);
	struct placement p;

	region_home(r, 0, 100 * page, w->here);
	assert_int_equal(mprotect(region_base(r), 60 * page, PROT_NONE), 0);
	p = look(w);
	assert_int_equal(p.pages, 100);
	assert_int_equal(p.unmapped, 0);
	assert_int_equal(p.on_node[w->here], 100);
	assert_int_equal(p.misplaced, 0);
	assert_true(p.how == PLACEMENT_VERIFIED ? !p.why_not : p.why_not != NULL);
	placement_free(&p);
}

/*
 * A page with two owners is claimed for neither. The bytes asked for end within the last granule:
 * a claim up to that end has the granule whole.
 */
static void claims_are_rounded_inwards(void **state)
{
	struct world *w = *state;
	size_t page = w->machine->page;
	const struct {
		size_t offset, bytes, claimed;
	} table[] = {
		{ 0, 10 * page, 10 },
		{ 1, 10 * page - 1, 9 },
		{ 1, 2 * page - 2, 0 },
		{ page - 1, page + 1, 1 },
		{ page / 2, page, 0 },
		{ 0, page - 1, 0 },
		{ 8 * page, page + page / 2, 2 },
		{ 8 * page, page + page / 2 - 1, 1 },
		{ 9 * page, page / 2, 1 },
		{ 5 * page, SIZE_MAX, 5 },
		{ 100 * page, page, 0 },
		{ SIZE_MAX, SIZE_MAX, 0 },
		{ 0, 0, 0 },
	};

	for (size_t i = 0; i < COUNT(table); i++) {
		struct region *r = map(w, 9 * page + page / 2, PAGES_BASE);
		struct placement p;

		touch(r, 0, region_bytes(r), page);
		region_home(r, table[i].offset, table[i].bytes, w->nowhere);
		p = look(w);
		assert_int_equal(p.pages, 10);
		if (p.misplaced != table[i].claimed)
			fail_msg("%zu + %zu: %zu", table[i].offset, table[i].bytes,
				 (size_t)p.misplaced);
		placement_free(&p);
		arena_close(w->arena);
		w->arena = arena_open(w->machine);
	}
}

/*
 * More pages than one move_pages() call asks about; the wrong claims lie on both sides of the
 * border between two calls.
 */
static void many_pages(void **state)
{
	struct world *w = *state;
	size_t page = w->machine->page, pages = 66001;
	const uint64_t needed = pages * page + ((size_t)32 << 20);
	struct memory_limit limit;
	struct node_memory node;
	struct region *r;
	struct placement p;

	needs_move_pages();
	memory_limit_read(SYSFS_ROOT, &limit);
	if (limit.available < needed || node_memory_read(SYSFS_ROOT, w->here, &node) ||
	    node.available < needed) {
		printf("# %zu pages of %zu KiB are more than there are on node %d\n", pages,
		       page >> 10, w->here);
		skip();
	}
	r = map_touched(w, pages * page);
	region_home(r, 65000 * page, 1000 * page, w->nowhere);
	region_user(r, 0, SIZE_MAX, w->here);
	p = look(w);
	assert_int_equal(p.pages, pages);
	assert_int_equal(p.local, pages);
	assert_int_equal(p.misplaced, 1000);
	placement_free(&p);
	assert_int_equal(region_migrate(r), 0);
}

static void regions_add_up(void **state)
{
	struct world *w = *state;
	size_t page = w->machine->page;
	struct placement p;

	p = look(w);
	assert_int_equal(p.pages, 0);
	placement_free(&p);
	map_touched(w, 10 * page);
	region_home(map_touched(w, 20 * page), 0, 20 * page, w->nowhere);
	map(w, 5 * page, PAGES_BASE);
	p = look(w);
	assert_int_equal(p.pages, 35);
	assert_int_equal(p.unmapped, 5);
	assert_int_equal(p.misplaced, 20);
	assert_int_equal(p.on_node[w->here], 30);
	placement_free(&p);
}

/*
 * A synthetic machine of two nodes, with all pages on one of them: half of the pages are
 * misplaced, less the one granule of tolerance.
 */
static void evenness(void **state)
{
	struct world *w = *state;
	size_t page = w->machine->page;
	struct world two = { .here = w->here };
	struct placement p;
	struct region *r;
	const char *error;

	if (w->here != 0) {
		print_message(
			"what stands for two nodes is a machine of node 0, and this is node %d\n",
			w->here);
		skip();
	}
	two.machine = machine_open("node:2 core:1 pu:1", &error);
	two.arena = arena_open(two.machine);
	r = map_touched(&two, 101 * page);
	region_even(r);
	p = look(&two);
	assert_int_equal(p.misplaced, 101 - 51 - 1);
	placement_free(&p);
	region_home(r, 0, 60 * page, 0); /* pages with a home need not be even */
	p = look(&two);
	assert_int_equal(p.misplaced, 41 - 21 - 1);
	placement_free(&p);
	arena_close(two.arena);
	machine_close(two.machine);
}

/* If the kernel forbids system calls. */

struct seen {
	int installed;
	struct placement placement;
	uint64_t on_here;
	long migrated;
	char why_not[256];
};

/* Makes these system calls fail with `error` in this process, for good. */
static int forbid(const int *call, unsigned n, int error)
{
	struct sock_filter filter[16];
	struct sock_fprog program = { 0, filter };

	filter[program.len++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
							     offsetof(struct seccomp_data, nr));
	for (unsigned i = 0; i < n; i++) {
		filter[program.len++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K,
								     (unsigned)call[i], 0, 1);
		filter[program.len++] = (struct sock_filter)BPF_STMT(
			BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (unsigned)error);
	}
	filter[program.len++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	       prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

static void see(struct world *w, struct seen *s)
{
	struct placement p;

	s->installed = 1;
	if (arena_placement(w->arena, &p))
		return;
	s->placement = p;
	s->on_here = p.on_node[w->here];
	snprintf(s->why_not, sizeof(s->why_not), "%s", p.why_not ? p.why_not : "");
	placement_free(&p);
}

static void see_without_move_pages(struct world *w, void *shared)
{
	if (!forbid((const int[]){ SYS_move_pages, SYS_mbind }, 2, EPERM))
		see(w, shared);
}

static void see_without_anything(struct world *w, void *shared)
{
	if (!forbid((const int[]){ SYS_move_pages, SYS_mbind, SYS_openat }, 3, EACCES))
		see(w, shared);
}

static void see_without_files(struct world *w, void *shared)
{
	if (!forbid((const int[]){ SYS_openat }, 1, EACCES))
		see(w, shared);
}

static void place_without_kernel(struct world *w, void *shared)
{
	struct region *r = map(w, w->machine->page, PAGES_BASE);
	struct seen *s = shared;

	touch(r, 0, w->machine->page, w->machine->page);
	region_user(r, 0, w->machine->page, w->here);
	if (forbid((const int[]){ SYS_move_pages, SYS_mbind }, 2, ENOSYS))
		return;
	s->installed = 1;
	s->migrated = region_bind(r, w->here) || region_interleave(r) ? -2 : region_migrate(r);
}

static struct seen *see_apart(struct world *w, void (*part)(struct world *, void *))
{
	struct seen *s =
		mmap(NULL, sizeof(*s), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	assert_int_equal(apart(part, w, s), 0);
	if (!s->installed) {
		print_message("this system has no seccomp filters\n");
		skip();
	}
	return s;
}

static struct region *half_claimed_wrongly(struct world *w)
{
	struct region *r = map(w, 100 * w->machine->page, PAGES_BASE);

	region_bind(r, w->here);
	touch(r, 0, 90 * w->machine->page, w->machine->page);
	region_home(r, 0, 50 * w->machine->page, w->nowhere);
	return r;
}

static void counted_where_asking_is_forbidden(void **state)
{
	struct world *w = *state;
	struct seen *s;

	half_claimed_wrongly(w);
	region_home(map_touched(w, 7 * w->machine->page), 0, 7 * w->machine->page, w->here);
	if (access("/proc/self/numa_maps", R_OK)) {
		print_message("/proc/self/numa_maps: %s\n", strerror(errno));
		skip();
	}
	s = see_apart(w, see_without_move_pages);
	assert_int_equal(s->placement.how, PLACEMENT_COUNTED);
	assert_string_equal(s->why_not, "move_pages: Operation not permitted");
	assert_int_equal(s->placement.pages, 107);
	assert_int_equal(s->on_here, 97);
	assert_int_equal(s->placement.unmapped, 10);
	assert_int_equal(s->placement.misplaced, 50);
	assert_int_equal(s->placement.used, 0);
	munmap(s, sizeof(*s));
}

static void unverified_where_all_is_forbidden(void **state)
{
	struct world *w = *state;
	struct seen *s;

	half_claimed_wrongly(w);
	s = see_apart(w, see_without_anything);
	assert_int_equal(s->placement.how, PLACEMENT_UNVERIFIED);
	assert_string_equal(
		s->why_not,
		"move_pages: Permission denied; /proc/self/numa_maps: Permission denied");
	assert_int_equal(s->placement.pages, 100);
	assert_int_equal(s->on_here + s->placement.unmapped + s->placement.misplaced, 0);
	assert_true(s->placement.huge_unknown);
	munmap(s, sizeof(*s));
}

static void pages_verified_but_sizes_unknown(void **state)
{
	struct world *w = *state;
	struct seen *s;

	needs_move_pages();
	half_claimed_wrongly(w);
	s = see_apart(w, see_without_files);
	assert_int_equal(s->placement.how, PLACEMENT_VERIFIED);
	assert_int_equal(s->placement.misplaced, 50);
	assert_true(s->placement.huge_unknown);
	munmap(s, sizeof(*s));
}

/* With one node there is nothing to choose, so placing succeeds on a kernel without NUMA. */
static void placing_on_a_kernel_without_nodes(void **state)
{
	struct world *w = *state;
	struct seen *s = see_apart(w, place_without_kernel);

	assert_int_equal(s->migrated, w->machine->nodes == 1 ? 0 : -2);
	munmap(s, sizeof(*s));
}

/* Policies. */

static void nodes_that_are_not_there(void **state)
{
	struct world *w = *state;
	struct region *r = map(w, w->machine->page, PAGES_BASE);

	for (const int *node = (const int[]){ -1, w->nowhere, 5000, INT32_MAX, 0 }; *node; node++) {
		errno = 0;
		assert_int_equal(region_bind(r, *node), -1);
		assert_int_equal(errno, EINVAL);
	}
	assert_null(arena_refusal(w->arena));
}

static void zeros_on_a_node(void **state)
{
	struct world *w = *state;
	struct world two = { .here = w->here };
	const char *error;
	struct placement p;
	char *base = region_on_node(w->arena, "words", w->machine->page + 1, w->here);

	assert_non_null(base);
	for (size_t i = 0; i <= w->machine->page; i++)
		assert_int_equal(base[i], 0);
	p = look(w);
	assert_true(p.pages == 2 && p.unmapped == 0 && p.misplaced == 0);
	placement_free(&p);
	two.machine = machine_open("node:2 core:1 pu:1", &error);
	two.arena = arena_open(two.machine);
	errno = 0;
	assert_null(region_on_node(two.arena, "words", 1, 2));
	assert_int_equal(errno, EINVAL);
	arena_close(two.arena);
	machine_close(two.machine);
}

/* Four granules: one stays, two are moved, and the last can't be moved as it is never touched. */
static void bind_and_move(struct world *w, int from, int to, enum pages pages)
{
	size_t page = w->machine->page,
	       granule = pages == PAGES_THP && w->machine->huge_page ? w->machine->huge_page : page;
	struct region *r = map(w, 4 * granule, pages);
	size_t each = granule / page;
	struct placement p;

	assert_int_equal(region_bind(r, from), 0);
	touch(r, 0, 3 * granule, page);
	region_home(r, 0, 3 * granule, from);
	region_user(r, granule, 3 * granule, to);
	p = look(w);
	assert_int_equal(p.on_node[from], 3 * each);
	assert_int_equal(p.misplaced, 0);
	assert_int_equal(p.used, 3 * each);
	assert_int_equal(p.local, from == to ? 2 * each : 0);
	placement_free(&p);
	assert_int_equal(region_migrate(r), 0);
	p = look(w);
	assert_int_equal(p.on_node[from], from == to ? 3 * each : each);
	assert_int_equal(p.on_node[to], from == to ? 3 * each : 2 * each);
	assert_int_equal(p.misplaced, from == to ? 0 : 2 * each);
	assert_int_equal(p.local, 2 * each);
	placement_free(&p);
	arena_close(w->arena);
	w->arena = arena_open(w->machine);
}

static void bound_and_moved(void **state)
{
	struct world *w = *state;
	const struct machine *m = w->machine;
	enum pages most = m->huge_page > 64 * MIB ? PAGES_BASE : PAGES_THP;

	needs_move_pages();
	for (enum pages pages = PAGES_BASE; pages <= most; pages++)
		for (unsigned i = 0; i < m->nodes; i++)
			for (unsigned j = 0; j < m->nodes; j++)
				if (m->node[i].memory && m->node[j].memory)
					bind_and_move(w, m->node[i].number, m->node[j].number,
						      pages);
}

static void moved_to_no_node(void **state)
{
	struct world *w = *state;
	struct region *r = map_touched(w, 10 * w->machine->page);

	needs_move_pages();
	region_user(r, 0, 10 * w->machine->page, w->nowhere);
	assert_int_equal(region_migrate(r), -1);
	assert_int_equal(errno, ENODEV);
}

static void interleaved(void **state)
{
	struct world *w = *state;
	const struct machine *m = w->machine;
	unsigned nodes = 0;
	struct placement p;
	struct region *r = map(w, 1000 * m->page, PAGES_BASE);

	assert_int_equal(region_interleave(r), 0);
	region_even(r);
	touch(r, 0, 1000 * m->page, m->page);
	for (unsigned i = 0; i < m->nodes; i++)
		nodes += m->node[i].memory > 0;
	p = look(w);
	assert_int_equal(p.misplaced, 0);
	for (unsigned i = 0; i < m->nodes; i++)
		if (m->node[i].memory)
			assert_in_range(p.on_node[m->node[i].number], 1000 / nodes - 1,
					1000 / nodes + 1);
	placement_free(&p);
}

/* All on one node is not even. */
static void bound_is_not_interleaved(void **state)
{
	struct world *w = *state;
	unsigned nodes = 0;
	struct placement p;

	for (unsigned i = 0; i < w->machine->nodes; i++)
		nodes += w->machine->node[i].memory > 0;
	region_even(map_touched(w, 1000 * w->machine->page));
	p = look(w);
	assert_int_equal(p.misplaced, nodes == 1 ? 0 : 1000 - (1000 + nodes - 1) / nodes - 1);
	placement_free(&p);
}

/* Huge pages. */

static bool thp_is_given(void)
{
	char *word = sysfs_choice(SYSFS_ROOT, "/sys/kernel/mm/transparent_hugepage/enabled");
	bool given = word && strcmp(word, "never") != 0;

	free(word);
	return given;
}

static void transparent_huge_pages(void **state)
{
	struct world *w = *state;
	size_t huge = w->machine->huge_page;
	struct placement p;
	struct region *r;

	if (!huge || !thp_is_given() || huge > 64 * MIB) {
		print_message("transparent huge pages: %s\n",
			      huge > 64 * MIB ? "of more than 64 MiB here" : "none are given here");
		skip();
	}
	touch(map(w, 4 * huge, PAGES_BASE), 0, 4 * huge, w->machine->page);
	p = look(w);
	assert_int_equal(p.huge, 0); /* refused, even if the system's setting is "always" */
	placement_free(&p);
	r = map(w, 4 * huge, PAGES_THP);
	region_bind(r, w->here);
	region_home(r, 0, 4 * huge, w->here);
	touch(r, 0, 4 * huge, w->machine->page);
	p = look(w);
	assert_true(p.huge > 0 && p.huge <= 4 * huge && p.huge % huge == 0);
	assert_int_equal(p.huge_page, huge);
	assert_int_equal(p.pages, 8 * huge / w->machine->page);
	assert_int_equal(p.misplaced, 0);
	placement_free(&p);
}

static void touch_without_thp(struct world *w, void *shared)
{
	struct seen *s = shared;

	if (prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0))
		return;
	touch(map(w, w->machine->huge_page + 1, PAGES_THP), 0, w->machine->huge_page,
	      w->machine->page);
	see(w, s);
}

/* Getting no transparent huge pages is no error, and the placement shows it. */
static void transparent_huge_pages_not_given(void **state)
{
	struct world *w = *state;
	struct seen *s;

	if (!w->machine->huge_page) {
		print_message("this system has no transparent huge pages\n");
		skip();
	}
	s = see_apart(w, touch_without_thp);
	assert_int_equal(s->placement.huge, 0);
	assert_int_equal(s->placement.huge_page, 0);
	assert_int_equal(s->placement.pages, w->machine->huge_page / w->machine->page + 1);
	assert_int_equal(s->placement.unmapped, 1);
	munmap(s, sizeof(*s));
}

static void reserved_pages_not_there(void **state)
{
	struct world *w = *state;
	size_t before = virtual_pages();

	/*
	 * More huge pages than anybody reserves, but within the address space that is left under
	 * ThreadSanitizer and by Arm kernels with 64 KiB pages (42 bits).
	 */
	for (enum pages pages = PAGES_2M; pages <= PAGES_1G; pages++) {
		assert_null(region_map(w->arena, "matrix", (size_t)1 << 39, pages));
		assert_int_equal(strncmp(arena_refusal(w->arena), "matrix needs ", 13), 0);
		assert_non_null(strstr(arena_refusal(w->arena), "/sys/kernel/mm/hugepages"));
	}
	assert_true((virtual_pages() - before) * w->machine->page < 64 * MIB);
}

static void use_reserved_pages(struct world *w)
{
	size_t pages = 4 * 2 * MIB / w->machine->page;
	struct placement p;
	struct region *r = region_map(w->arena, "matrix", 3 * 2 * MIB + 1, PAGES_2M);

	assert_non_null(r);
	assert_int_equal(region_bytes(r), 4 * 2 * MIB);
	assert_int_equal((uintptr_t)region_base(r) % (2 * MIB), 0);
	assert_int_equal(region_bind(r, w->here), 0);
	region_home(r, 0, 2 * 2 * MIB, w->here);
	region_home(r, 2 * 2 * MIB, 2 * 2 * MIB, w->nowhere);
	touch(r, 0, 3 * 2 * MIB, 2 * MIB);
	p = look(w);
	assert_int_equal(p.how, PLACEMENT_VERIFIED);
	assert_int_equal(p.pages, pages);
	assert_int_equal(p.unmapped, pages / 4);
	assert_int_equal(p.misplaced, pages / 2);
	assert_int_equal(p.huge, 3 * 2 * MIB);
	assert_int_equal(p.huge_page, 2 * MIB);
	placement_free(&p);
	assert_int_equal(region_bind(r, w->here), 0); /* touched pages need no free ones */
}

static void counted_reserved_pages(struct world *w)
{
	struct seen *s = see_apart(w, see_without_move_pages);

	assert_int_equal(s->placement.how, PLACEMENT_COUNTED);
	assert_int_equal(s->on_here, 3 * 2 * MIB / w->machine->page);
	assert_int_equal(s->placement.unmapped, 2 * MIB / w->machine->page);
	assert_int_equal(s->placement.huge, 3 * 2 * MIB);
	munmap(s, sizeof(*s));
}

static void reserved_pages(void **state)
{
	struct world *w = *state;

	if (!reserve(w, 4)) {
		print_message(
			"no huge pages can be reserved (not root, or memory is fragmented)\n");
		skip();
	}
	use_reserved_pages(w);
	counted_reserved_pages(w);
}

/* Binding must fail: to touch huge pages that the node does not have is a SIGBUS. */
static void reserved_pages_on_another_node(void **state)
{
	struct world *w = *state;
	int other = -1;
	struct region *r;

	for (unsigned i = 0; i < w->machine->nodes; i++)
		other = w->machine->node[i].memory && w->machine->node[i].number != w->here
				? w->machine->node[i].number
				: other;
	if (other < 0 || !reserve(w, 2)) {
		print_message("%s\n", other < 0 ? "there is no other node with memory"
						: "no huge pages can be reserved");
		skip();
	}
	r = region_map(w->arena, "matrix", 2 * 2 * MIB, PAGES_2M);
	assert_non_null(r);
	assert_int_equal(region_bind(r, other), -1);
	assert_int_equal(errno, ENOMEM);
	assert_int_equal(strncmp(arena_refusal(w->arena), "matrix needs 2 huge pages", 25), 0);
	assert_int_equal(region_bind(r, w->here), 0);
	touch(r, 0, 2 * 2 * MIB, 2 * MIB);
}

#define IN_WORLD(test) cmocka_unit_test_setup_teardown(test, open_world, close_world)

int main(void)
{
	const struct CMUnitTest tests[] = {
		IN_WORLD(aligned_zeroed_and_writable),
		IN_WORLD(sizes_that_cannot_be),
		IN_WORLD(closing_unmaps),
		IN_WORLD(ends_are_guarded),
		IN_WORLD(reasons_are_kept),
		IN_WORLD(claims_that_hold),
		IN_WORLD(claims_that_do_not),
		IN_WORLD(pages_not_there),
		IN_WORLD(pages_withdrawn),
		IN_WORLD(claims_are_rounded_inwards),
		IN_WORLD(many_pages),
		IN_WORLD(regions_add_up),
		IN_WORLD(evenness),
		IN_WORLD(counted_where_asking_is_forbidden),
		IN_WORLD(unverified_where_all_is_forbidden),
		IN_WORLD(pages_verified_but_sizes_unknown),
		IN_WORLD(placing_on_a_kernel_without_nodes),
		IN_WORLD(nodes_that_are_not_there),
		IN_WORLD(zeros_on_a_node),
		IN_WORLD(bound_and_moved),
		IN_WORLD(moved_to_no_node),
		IN_WORLD(interleaved),
		IN_WORLD(bound_is_not_interleaved),
		IN_WORLD(transparent_huge_pages),
		IN_WORLD(transparent_huge_pages_not_given),
		IN_WORLD(reserved_pages_not_there),
		IN_WORLD(reserved_pages),
		IN_WORLD(reserved_pages_on_another_node),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
