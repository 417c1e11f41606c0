/* SPDX-License-Identifier: Apache-2.0 */
/* The background load on memory reaches all of its lines, however short samples are. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "bench/latency/background.h"
#include "machine/threads/team.h"

enum { LINE = 64, BLOCK = 16, LINES = 5 * BLOCK };

static unsigned written(const char *lines, unsigned from, unsigned n)
{
	const uint64_t *word = (const uint64_t *)lines;
	unsigned found = 0;

	for (unsigned i = from; i < from + n; i++)
		found += word[i * (LINE / sizeof(*word))] != UINT64_C(0x1212121212121212);
	return found;
}

/* Each sample, even if its time is up at once, goes on with the block after the last one's. */
static void samples_go_on(void **state)
{
	static _Alignas(LINE) char lines[LINES * LINE];
	const atomic_bool stop = true;
	struct worker self = { .stop = &stop };
	const struct {
		enum mix mix;
		unsigned first, blocks, units;
	} table[] = {
		{ MIX_WRITE, 0, 5, BLOCK },
		{ MIX_COPY, LINES / 2, 2, 2 * BLOCK }, /* the second half has 2.5 */
	};

	(void)state;
	for (unsigned i = 0; i < sizeof(table) / sizeof(*table); i++) {
		struct background b = {
			.lines = lines, .bytes = sizeof(lines), .line = LINE, .mix = table[i].mix
		};

		memset(lines, 0x12, sizeof(lines));
		for (unsigned block = 0; block < table[i].blocks; block++) {
			const unsigned first = table[i].first + block * BLOCK;

			assert_int_equal(written(lines, first, BLOCK), 0);
			background_work(&b, &self);
			assert_int_equal(self.done, table[i].units);
			assert_int_equal(written(lines, first, BLOCK), BLOCK);
		}
		memset(lines, 0x12, sizeof(lines));
		background_work(&b, &self);
		assert_int_equal(written(lines, table[i].first, BLOCK), BLOCK); /* from the start */
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(samples_go_on) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
