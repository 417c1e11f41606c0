/* SPDX-License-Identifier: Apache-2.0 */
/* The background load touches all of its lines, however short samples are. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "base/arithmetic.h"
#include "bench/latency/latency.h"
#include "machine/threads/team.h"

enum { LINE = 64, BLOCKS = 5, LINES = BLOCKS * BACKGROUND_BLOCK };

static bool written(const char *lines, unsigned i)
{
	const uint64_t *word = (const uint64_t *)lines;

	return word[i * (LINE / sizeof(*word))] != UINT64_C(0x1212121212121212);
}

/* Whether exactly the first n of the `of` blocks of the stream are written. */
static bool reached(const char *lines, unsigned block, unsigned n, unsigned of)
{
	for (unsigned i = 0; i < of * block; i++)
		if (written(lines, i) != (i < n * block))
			return false;
	return true;
}

/*
 * Each sample, even if its time is up at once, goes on with the block after the last one's, among
 * lines that are read and among lines that are written.
 */
static void samples_go_on(void **state)
{
	static _Alignas(LINE) char lines[LINES * LINE];
	const atomic_bool stop = true;
	struct worker self = { .stop = &stop };
	struct load load = { .running = 0 };
	static const unsigned mixes[] = { MIX_3_1, MIX_2_1, MIX_1_1, MIX_1_2, MIX_1_3, MIX_WRITE };

	(void)state;
	for (unsigned i = 0; i < 2 * LENGTH(mixes); i++) {
		const unsigned n = mix_written(mixes[i / 2]), first = LINES - BLOCKS * n;
		struct background b = {
			.reads = { lines, first * LINE, 0 },
			.writes = { lines + first * LINE, BLOCKS * n * LINE, 0 },
			.line = LINE,
			.read = BACKGROUND_BLOCK - n,
			.written = n,
			.cached = i % 2,
			.load = &load,
		};

		memset(lines, 0x12, sizeof(lines));
		for (unsigned block = 1; block <= BLOCKS; block++) {
			assert_true(reached(b.writes.lines, n, block - 1, BLOCKS));
			background_work(&b, &self);
			assert_int_equal(self.done, BACKGROUND_BLOCK + (b.cached ? n : 0));
			assert_true(reached(b.writes.lines, n, block, BLOCKS));
			assert_int_equal(b.reads.at, block % BLOCKS * b.read * LINE);
		}
		for (unsigned line = 0; line < first; line++)
			assert_false(written(lines, line));
		memset(lines, 0x12, sizeof(lines));
		background_work(&b, &self);
		assert_true(reached(b.writes.lines, n, 1, BLOCKS)); /* from the start */
	}
}

/* Lines are counted from the start of the clock: earlier ones do not count. */
static void only_what_counts_is_counted(void **state)
{
	static _Alignas(LINE) char lines[LINES * LINE];
	const atomic_bool stop = true;
	struct worker self = { .stop = &stop };
	struct load load = { .counted = true };
	struct background b = { .reads = { lines, sizeof(lines), 0 },
				.line = LINE,
				.read = BACKGROUND_BLOCK,
				.load = &load };

	(void)state;
	background_work(&b, &self);
	assert_int_equal(self.done, BACKGROUND_BLOCK);
	assert_int_equal(load.running, 0); /* one block is not yet a load */
}

/* A block can be divided by any mix of reads and writes. */
static void mixes_are_what_they_are_called(void **state)
{
	static const unsigned ratio[][2] = {
		[MIX_READ] = { 1, 0 }, [MIX_3_1] = { 3, 1 }, [MIX_2_1] = { 2, 1 },
		[MIX_1_1] = { 1, 1 },  [MIX_1_2] = { 1, 2 }, [MIX_1_3] = { 1, 3 },
		[MIX_WRITE] = { 0, 1 }
	};

	(void)state;
	for (unsigned mix = MIX_READ; mix <= MIX_WRITE; mix++) {
		const unsigned writes = mix_written(mix), reads = BACKGROUND_BLOCK - writes;

		assert_int_equal(reads * ratio[mix][1], writes * ratio[mix][0]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(samples_go_on),
		cmocka_unit_test(only_what_counts_is_counted),
		cmocka_unit_test(mixes_are_what_they_are_called),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
