/* SPDX-License-Identifier: Apache-2.0 */
/* The hash against the test vectors of its authors (FNV). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/hash.h"

static void its_values_are_the_published_ones(void **state)
{
	(void)state;
	assert_true(hash_text("") == UINT64_C(0xcbf29ce484222325));
	assert_true(hash_text("a") == UINT64_C(0xaf63dc4c8601ec8c));
	assert_true(hash_text("foobar") == UINT64_C(0x85944171f73967e8));
}

static void parts_come_to_the_whole(void **state)
{
	char text[HASH_TEXT];

	(void)state;
	assert_true(hash_more(hash_text("foo"), "bar", 3) == hash_text("foobar"));
	assert_true(hash_more(HASH_BEGIN, "\0", 1) != HASH_BEGIN);
	assert_string_equal(hash_print(0x1f, text), "fnv1a64:000000000000001f");
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(its_values_are_the_published_ones),
		cmocka_unit_test(parts_come_to_the_whole),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
