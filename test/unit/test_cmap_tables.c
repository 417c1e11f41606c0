/* SPDX-License-Identifier: Apache-2.0 */
/* A late thread still uses a replaced table, and finds another table where its successor was. */
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "counted_memory.h"
#include "solve/map/tables.h"

enum { HOMES = 128, LEFT = 64, SEED = 9 };

/*
 * The table of 128 homes was moved to one of 64, in 64 units. That one was freed, and the current
 * table, which has more than 128 homes, got its address. Compared with the current table, 64 of 128
 * units seem left to move.
 */
static void test_what_was_replaced_is_not_moved_again(void **state)
{
	struct counted_memory memory = { .limit = LONG_MAX };
	struct cmap *m = counted_open(&memory, 2 * HOMES * TABLES_MOST_KEYS, SEED);
	struct cmap_handle *h = cmap_join(m);
	struct table *old = tables_open(m, HOMES, 0, 0), *current = tables_enter(h);

	(void)state;
	assert_true(current->homes > HOMES);
	for (unsigned i = 0; i < HOMES; i++)
		old->bucket[i].word = BUCKET_MOVED;
	old->next = current;
	old->claimed = old->moved = LEFT;
	h->name[1] = old;
	for (unsigned i = 0; i < 3; i++)
		tables_move(h, old);
	assert_int_equal(old->moved, LEFT);
	assert_null(m->waiting);
	assert_ptr_equal(m->current, current);
	cmap_leave(h);
	tables_close(m, old);
	cmap_close(m);
	assert_int_equal(memory.tables, 0);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_was_replaced_is_not_moved_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
