/* SPDX-License-Identifier: Apache-2.0 */
/* latency: how far an allocation is warmed, and which trials are sampled alone. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "base/arithmetic.h"
#include "bench/latency/latency.h"
#include "machine/topology/topology.h"

#define KIB	   ((size_t)1 << 10)
#define MIB	   ((size_t)1 << 20)
#define LAST_CACHE (32 * MIB)
enum { PAGE = 4096, LINE = 64, MOST_PARAMETERS = 32 };

static struct needs needs_of(enum pattern pattern, size_t bytes, unsigned element, size_t stride)
{
	const struct machine machine = { .line = LINE, .page = PAGE, .last_cache = LAST_CACHE };
	const struct way way = { .pattern = pattern };
	const struct variant variant = { .name = "any", .data = &way };
	union value value[MOST_PARAMETERS] = { 0 };
	const struct trial trial = {
		.variant = &variant, .value = value, .threads = 1, .machine = &machine
	};

	value[BYTES].count = bytes;
	value[ELEMENT].choice = element;
	value[STRIDE].count = stride;
	value[CHAINS].count = 1;
	return latency_needs(&trial);
}

/*
 * Caches hold the lines of the chain: with one line per page, 16 times the last-level cache in
 * pages has only a quarter of the cache in lines, which fit.
 */
static void test_warm_up_follows_the_lines_touched(void **state)
{
	static const struct {
		enum pattern pattern;
		size_t bytes, stride, warm;
		unsigned element;
		bool alone;
	} table[] = {
		{ PATTERN_CYCLE, 64 * KIB, 0, KIB, POINTER, false },
		{ PATTERN_CYCLE, LAST_CACHE, 0, 2 * LAST_CACHE / LINE, POINTER, true },
		{ PATTERN_CYCLE, 4 * LAST_CACHE, 0, 0, POINTER, true },
		/* packed: all lines are touched */
		{ PATTERN_CYCLE, 4 * LAST_CACHE, 4, 0, INT, true },
		{ PATTERN_CYCLE, LAST_CACHE / 4, 4, LAST_CACHE / 16 - 1, INT, true },
		/* every second line */
		{ PATTERN_CYCLE, 5 * LAST_CACHE, 2 * LINE, 0, POINTER, true },
		{ PATTERN_CYCLE, 3 * LAST_CACHE, 2 * LINE, 3 * LAST_CACHE / LINE, POINTER, true },
		/* one line of each page */
		{ PATTERN_PAGE_RANDOM, 16 * LAST_CACHE, 0, 16 * LAST_CACHE / PAGE, POINTER, true },
		{ PATTERN_PAGE_RANDOM, 64 * MIB, 0, 64 * MIB / PAGE, POINTER, false },
		{ PATTERN_PAGE_RANDOM, 64 * LAST_CACHE, 0, 2 * LAST_CACHE / LINE, POINTER, true },
		{ PATTERN_PAGE_STRIDE, (size_t)100000 * (PAGE + 8), 0, 100000, POINTER, true },
		{ PATTERN_PAGE_RANDOM, 256 * LAST_CACHE, 0, 0, POINTER, true },
	};

	(void)state;
	for (unsigned i = 0; i < LENGTH(table); i++) {
		const struct needs n = needs_of(table[i].pattern, table[i].bytes, table[i].element,
						table[i].stride);

		assert_null(n.pointless);
		assert_int_equal(n.warm, table[i].warm);
		assert_int_equal(n.alone, table[i].alone);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_warm_up_follows_the_lines_touched),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
