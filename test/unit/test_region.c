/* SPDX-License-Identifier: Apache-2.0 */
/* Regions: mapped as requested; claims about pages against the kernel's report. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "machine/limits/limits.h"
#include "regions.h"

#define COUNT(array) (sizeof(array) / sizeof(*(array)))

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

/* PROT_NONE simulates NUMA balancing, which withdraws access from pages until the next use. */
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
 * A page with two owners is claimed for neither. The requested bytes end within the last granule: a
 * claim up to that end covers the whole granule.
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
 * More pages than one move_pages() call handles; wrong claims lie on both sides of the border
 * between two calls.
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
 * A synthetic machine of two nodes, with all pages on one of them: half of the pages are misplaced,
 * minus the tolerance of one granule.
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
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
