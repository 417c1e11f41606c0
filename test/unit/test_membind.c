/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Placing regions: policies, migration, and what is reported if the kernel forbids queries. Tests
 * that need several nodes skip on a machine with one.
 */
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

/* With one node there is no choice, so placing succeeds on a kernel without NUMA. */
static void placing_on_a_kernel_without_nodes(void **state)
{
	struct world *w = *state;
	struct seen *s = see_apart(w, place_without_kernel);

	assert_int_equal(s->migrated, w->machine->nodes == 1 ? 0 : -2);
	munmap(s, sizeof(*s));
}

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

/* Four granules: one stays, two are moved, and the last cannot be moved, as it is never touched. */
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

/* All pages on one node are not even. */
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

int main(void)
{
	const struct CMUnitTest tests[] = {
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
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
