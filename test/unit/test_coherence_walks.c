/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The walks and streams of coherence: their machine code, what they leave in lines, and that a walk
 * ends in the right place only if each line is new.
 */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "bench/coherence/coherence.h"
#include "bounded.h"
#include "code.h"

#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))

/* ---- machine code ---- */

#define FILLED(STORE)         \
	ARITHMETIC "|" STORE, \
	{                     \
		STORE         \
	}
static const struct shape shapes[] = {
#if defined(__x86_64__)
	{ "walk_load", LOOP, ARITHMETIC, { "mov \\((" R ")\\)," R } },
	{ "walk_store", LOOP, ARITHMETIC, { "xchg " R ",\\(" R "\\)" } },
	{ "walk_load_noting", LOOP, ".*", { "lfence", "rdtsc", "mov \\(" R "\\)," R } },
	{ "walk_store_noting", LOOP, ".*", { "lfence", "rdtsc", "xchg " R ",\\(" R "\\)" } },
	{ "stream_fill_baseline", LOOP, FILLED("v?mov[a-z]+ %xmm[0-9]+," AT) },
	{ "stream_fill_avx2", LOOP, FILLED("vmov[a-z0-9]+ %ymm[0-9]+," AT) },
	{ "stream_fill_avx512", LOOP, FILLED("vmov[a-z0-9]+ %zmm[0-9]+," AT) },
	{ "stream_sum",
	  LOOP,
	  ARITHMETIC "|v?mov[a-z]+ " AT "," R "|v?paddq .*", /* no sum is kept in memory */
	  { "v?paddq .*" } },
#elif defined(__aarch64__)
	{ "walk_load", LOOP, ARITHMETIC, { "ldr x[0-9]+, \\[x[0-9]+\\]" } },
	/*
	 * an ARMv8.1 instruction, a call that chooses one at run time, or a store with reservation
	 */
	{ "walk_store",
	  LOOP,
	  ARITHMETIC "|ldxr .*",
	  { "swp .*|" CALL("__aarch64_swp8_[a-z_]+") "|stxr .*" } },
	{ "walk_load_noting", LOOP, ".*", { "isb", "mrs .*", "ldr x[0-9]+, \\[x[0-9]+\\]" } },
	{ "stream_fill_baseline", LOOP, FILLED("st[pr] q.*") },
	{ "stream_sum", LOOP, ARITHMETIC "|ld[pr] q.*|add v.*", { "ld[pr] q.*", "add v.*" } },
#endif
};

static void loops_are_what_was_meant(void **state)
{
	(void)state;
	have_the_shapes_that_were_meant(shapes, LENGTH(shapes));
}

/* ---- walks ---- */

enum { APART_IN_TEST = 128, MOST = 300 };
static _Alignas(APART_IN_TEST) char memory[MOST * APART_IN_TEST];

static struct lines lines_of(size_t n)
{
	memset(memory, 0, sizeof(memory));
	return (struct lines){ memory, n, APART_IN_TEST, n };
}

/* The measured walk, and the one that notes the ticks. */
static struct link *walk_all(const struct lines *l, bool noting)
{
	static struct histogram ticks;
	struct link *end;

	if (!noting)
		return walk_load(lines_first(l), l->n, NULL);
	histogram_clear(&ticks);
	end = walk_load_noting(lines_first(l), l->n, NULL, &ticks);
	assert_int_equal(histogram_total(&ticks), l->n);
	return end;
}

static void a_walk_goes_over_each_line_and_ends_at_its_end(void **state)
{
	static const size_t sizes[] = { 2, 3, 16, 255, 256, MOST };

	(void)state;
	for (size_t i = 0; i < LENGTH(sizes); i++) {
		const struct lines l = lines_of(sizes[i]);
		struct link *before = NULL;

		for (uint64_t number = 0; number < 15; number++) {
			struct link *end = lines_lay(&l, number);

			assert_ptr_not_equal(end, before);
			before = end;
			assert_ptr_equal(walk_all(&l, false), end);
			assert_ptr_equal(walk_all(&l, true), end);
			assert_false(lines_hold(&l, end));
			assert_ptr_equal(walk_store(lines_first(&l), l.n, end), end);
			assert_true(lines_hold(&l, end)); /* so each line was visited once */
		}
	}
}

/* Lines defeat prefetchers: neighbours in memory are never neighbours on the walk. */
static void neighbours_are_apart(void **state)
{
	const struct lines l = lines_of(256);
	const char *at;
	unsigned beside = 0;

	(void)state;
	lines_lay(&l, 0);
	at = (const char *)lines_first(&l);
	for (size_t i = 1; i < l.n; i++) {
		const char *next = (const char *)atomic_load(&((struct link *)at)->next);

		beside += llabs(next - at) <= 2 * APART_IN_TEST;
		at = next;
	}
	assert_in_range(beside, 0, l.n / 8);
}

static void a_line_that_is_not_new_is_noticed(void **state)
{
	static struct histogram ticks;
	const struct lines l = lines_of(64);

	(void)state;
	for (uint64_t number = 1; number < 9; number++) {
		struct link *old, *end, *line = lines_first(&l);

		lines_lay(&l, number - 1);
		for (unsigned i = 0; i < 20; i++)
			line = atomic_load(&line->next);
		old = atomic_load(&line->next);
		end = lines_lay(&l, number);
		atomic_store(&line->next, old);
		assert_ptr_not_equal(walk_load(lines_first(&l), l.n, NULL), end);
		/* all lines are old */
		lines_lay(&l, number - 1);
		assert_ptr_not_equal(walk_load(lines_first(&l), l.n, NULL), end);
		assert_ptr_not_equal(walk_store_noting(lines_first(&l), l.n, end, &ticks), end);
		assert_int_equal(histogram_total(&ticks), number * l.n);
	}
}

static void flushed_lines_keep_what_they_hold(void **state)
{
	const struct lines l = lines_of(64);
	struct link *end = lines_lay(&l, 1);

	(void)state;
	if (!lines_can_flush()) {
		print_message("skipped: no instruction is known here that flushes a line\n");
		skip();
	}
	lines_flush(&l);
	assert_ptr_equal(walk_all(&l, false), end);
}

/* ---- streams ---- */

enum { PART = 3 * STREAM_STEP, PARTS = 1000 };
static _Alignas(STREAM_STEP) char buffer[STREAM_PARTS * PART];

static void *send(void *stream)
{
	stream_write(stream, PARTS);
	return NULL;
}

static void a_stream_arrives_whole(void **state)
{
	static struct stream s = { stream_fill_baseline, buffer, PART };

	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		pthread_t thread;

		stream_restart(&s);
		assert_int_equal(pthread_create(&thread, NULL, send, &s), 0);
		stream_read(&s, PARTS);
		pthread_join(thread, NULL);
		assert_false(s.wrong);
		assert_int_equal(atomic_load(&s.taken), PARTS);
	}
}

static void a_part_of_an_earlier_lap_is_noticed(void **state)
{
	static struct stream s = { stream_fill_baseline, buffer, PART };

	(void)state;
	stream_fill_baseline(buffer + 2 * PART, PART, 7);
	assert_int_equal(stream_sum(buffer + 2 * PART, PART), 7 * PART / sizeof(uint64_t));
	stream_fill_baseline(buffer + PART, PART, UINT64_C(0x0101010101010101));
	atomic_store(&s.written, 1);
	stream_read(&s, 1);
	assert_false(s.wrong);
	atomic_store(&s.written, 2);
	stream_read(&s, 2);
	assert_true(s.wrong);
}

static void each_width_of_stores_fills_a_part(void **state)
{
	(void)state;
	stream_fill_widest(buffer, PART, UINT64_C(0x123456789));
	assert_true(stream_sum(buffer, PART) == UINT64_C(0x123456789) * (PART / 8));
	stream_fill_memset(buffer, PART, UINT64_C(0x0707070707070707));
	assert_true(stream_sum(buffer, PART) == UINT64_C(0x0707070707070707) * (PART / 8));
#ifdef __x86_64__
	if (__builtin_cpu_supports("avx2")) {
		stream_fill_avx2(buffer, PART, 3);
		assert_int_equal(stream_sum(buffer, PART), 3 * PART / 8);
	}
#endif
	stream_fill_baseline(buffer, PART, 5);
	assert_int_equal(stream_sum(buffer, PART), 5 * PART / 8);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(loops_are_what_was_meant),
		cmocka_unit_test(a_walk_goes_over_each_line_and_ends_at_its_end),
		cmocka_unit_test(neighbours_are_apart),
		cmocka_unit_test(a_line_that_is_not_new_is_noticed),
		cmocka_unit_test(flushed_lines_keep_what_they_hold),
		cmocka_unit_test(a_stream_arrives_whole),
		cmocka_unit_test(a_part_of_an_earlier_lap_is_noticed),
		cmocka_unit_test(each_width_of_stores_fills_a_part),
	};

	return cmocka_run_group_tests(tests, begin_bounded, end_bounded);
}
