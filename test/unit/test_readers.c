/* SPDX-License-Identifier: Apache-2.0 */
/* The loops of readers: a dependent load, and a store that counts up. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "bench/readers/kernels.h"
#include "code.h"

static const struct shape shapes[] = {
#if defined(__x86_64__)
	/* one load; its value goes into the address */
	{ "readers_read", LOOP, ARITHMETIC, { LOADED, "and " R "," R, "lea .*,8\\)," R } },
	{ "readers_write", LOOP, ARITHMETIC "|pause", { STORED, ADDED } },
#elif defined(__aarch64__)
	{ "readers_read", LOOP, ARITHMETIC, { LOADED, "and .*", "add .*lsl #3" } },
	{ "readers_write", LOOP, ARITHMETIC "|yield", { STORED, ADDED } },
#endif
};

static void loops_are_what_was_meant(void **state)
{
	(void)state;
	have_the_shapes_that_were_meant(shapes, sizeof(shapes) / sizeof(*shapes));
}

/* Each store has the next number, whatever the pauses; readers change nothing. */
static void the_word_counts_the_writes(void **state)
{
	_Atomic uint64_t word[2] = { 0, 7 };
	struct words words = { &word[0], &word[1], 0 };

	(void)state;
	readers_write(&words, 0);
	assert_int_equal(word[0], 0);
	readers_write(&words, 10);
	words.pauses = 3;
	readers_write(&words, 1);
	assert_int_equal(word[0], 11);
	readers_read(&words, 1000);
	words.read = words.written;
	readers_read(&words, 1000);
	assert_int_equal(word[0], 11);
	assert_int_equal(word[1], 7);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(loops_are_what_was_meant),
		cmocka_unit_test(the_word_counts_the_writes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
