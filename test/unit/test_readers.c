/* SPDX-License-Identifier: Apache-2.0 */
/* The loops of readers: a dependent load, and a store that counts up; and which words they use. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "bench/readers/readers.h"
#include "benchmarks.h"
#include "code.h"
#include "machine/memory/arena.h"
#include "machine/topology/topology.h"

static const struct shape shapes[] = {
#if defined(__x86_64__)
	/* one load, whose value goes into the address */
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

/* ---- where the two words lie ---- */

enum { MOST = 8 };

static ptrdiff_t distance_of(const struct machine *m, unsigned layout)
{
	static const struct place places[2];
	const union value value[MOST] = { { .choice = layout } };
	const struct trial t = { .benchmark = &readers_benchmark,
				 .variant = readers_benchmark.variants,
				 .value = value,
				 .threads = 2,
				 .place = places,
				 .machine = m,
				 .arena = arena_open(m) };
	const struct words *w;
	ptrdiff_t distance;

	assert_non_null(t.arena);
	w = readers_benchmark.ops.prepare(&t); /* a state begins with its words */
	assert_non_null(w);
	distance = (const char *)w->read - (const char *)w->written;
	assert_int_equal((uintptr_t)w->written % m->page, 0);
	assert_true(readers_benchmark.needs(&t).bytes >= (size_t)distance + sizeof(uint64_t));
	readers_benchmark.ops.release((void *)w);
	arena_close(t.arena);
	return distance;
}

static void readers_read_where_the_layout_says(void **state)
{
	const char *why;
	struct machine *m = machine_open("core:2 pu:1", &why);
	ptrdiff_t pair;

	(void)state;
	assert_non_null(m);
	pair = (ptrdiff_t)machine_apart(m); /* two lines, which are fetched together */
	assert_int_equal(distance_of(m, 0), 0);
	assert_int_equal(distance_of(m, 1), sizeof(uint64_t));
	assert_int_equal(distance_of(m, 2), pair / 2);
	assert_int_equal(distance_of(m, 3), 2 * pair);
	machine_close(m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(loops_are_what_was_meant),
		cmocka_unit_test(the_word_counts_the_writes),
		cmocka_unit_test(readers_read_where_the_layout_says),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
