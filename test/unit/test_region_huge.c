/* SPDX-License-Identifier: Apache-2.0 */
/* Regions on huge pages, transparent and reserved. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "regions.h"

static size_t virtual_pages(void)
{
	size_t pages = 0;
	FILE *file = fopen("/proc/self/statm", "r");

	assert_int_equal(fscanf(file, "%zu", &pages), 1);
	fclose(file);
	return pages;
}

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

/* A lack of transparent huge pages is no error, and the placement shows it. */
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

/* Binding must fail: touching huge pages that the node does not have raises SIGBUS. */
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		IN_WORLD(transparent_huge_pages),
		IN_WORLD(transparent_huge_pages_not_given),
		IN_WORLD(reserved_pages_not_there),
		IN_WORLD(reserved_pages),
		IN_WORLD(reserved_pages_on_another_node),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
