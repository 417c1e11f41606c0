/* SPDX-License-Identifier: Apache-2.0 */
/* Multi-size transparent huge pages: reasons for having none, and how a region is touched. */
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <cmocka.h>

#include "base/sysfs.h"
#include "machine/memory/arena.h"
#include "machine/memory/mapped.h"
#include "machine/memory/region.h"
#include "machine/memory/placement.h"
#include "machine/topology/topology.h"
#include "tree.h"

#define THP   "/sys/kernel/mm/transparent_hugepage"
#define OF_64 THP "/hugepages-64kB/enabled"
enum { OF_64_BYTES = 64 << 10 };

static void the_reason_says_what_to_do(void **state)
{
	static const struct {
		const char *all, *own, *why; /* NULL: no such file; no reason */
	} rows[] = {
		{ "always [madvise] never", NULL,
		  "this kernel has no transparent huge pages of 64 KiB" },
		{ "always [madvise] never", "always inherit madvise [never]",
		  "as root: echo madvise > " OF_64 },
		{ "[always] madvise never", "always inherit [madvise] never", NULL },
		{ "always madvise [never]", "[always] inherit madvise never", NULL },
		{ "always [madvise] never", "always [inherit] madvise never", NULL },
		{ "always madvise [never]", "always [inherit] madvise never",
		  "as root: echo madvise > " OF_64 },
	};

	(void)state;
	for (unsigned i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		char *why;

		put_file(THP "/enabled", rows[i].all);
		if (rows[i].own)
			put_file(OF_64, rows[i].own);
		why = multisize_lack(root, OF_64_BYTES);
		if (rows[i].why)
			assert_non_null(why ? strstr(why, rows[i].why) : NULL);
		else
			assert_null(why);
		free(why);
	}
}

static void a_region_says_so_too(void **state)
{
	const char *error;
	struct machine *m = machine_open(NULL, &error);
	struct arena *a = arena_open(m);
	char *why = multisize_lack(SYSFS_ROOT, OF_64_BYTES);
	const struct region *r = region_map(a, "data", 3 * OF_64_BYTES + 1, PAGES_MULTISIZE_64K);

	(void)state;
	if (why) {
		assert_null(r);
		assert_int_equal(errno, ENOTSUP);
		assert_non_null(strstr(arena_refusal(a), why));
	} else {
		assert_int_equal(region_granule(r), OF_64_BYTES);
		assert_int_equal(region_bytes(r), 4 * OF_64_BYTES);
		assert_true((uintptr_t)region_base(r) % OF_64_BYTES == 0);
		assert_true(multisize_touch(r) >= 0 || isnan(multisize_touch(r)));
	}
	free(why);
	arena_close(a);
	machine_close(m);
}

/* Afterwards every page is there, in one mapping again. */
static void all_pages_are_touched(void **state)
{
	static const enum pages kinds[] = { PAGES_BASE, PAGES_THP };
	const char *error;
	struct machine *m = machine_open(NULL, &error);

	(void)state;
	for (unsigned i = 0; i < 2 * sizeof(kinds) / sizeof(*kinds); i++) {
		struct arena *a = arena_open(m);
		struct region *r = region_map(a, "data", 10 * m->page, kinds[i / 2]);
		struct placement p;

		assert_non_null(r);
		r->multisize = i % 2;
		/* pages that other processes touch are counted, too */
		assert_true(isnan(multisize_touch(r)) || r->multisize);
		assert_int_equal(arena_placement(a, &p), 0);
		assert_int_equal(p.unmapped, 0);
		placement_free(&p);
		for (size_t at = 0; at < region_bytes(r); at++)
			assert_int_equal(((char *)region_base(r))[at], 0);
		arena_close(a);
	}
	machine_close(m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(the_reason_says_what_to_do, tree_make, tree_remove),
		cmocka_unit_test(a_region_says_so_too),
		cmocka_unit_test(all_pages_are_touched),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
