/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Chains: every order visits each element once and returns, for any pattern and size; kernels
 * follow them load by load.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "bench/latency/chain.h"
#include "code.h"

enum { PAGE = 4096, LINE = 64, MOST = 3 << 20 };
static const enum pattern patterns[] = { PATTERN_CYCLE, PATTERN_PAGE_CYCLE, PATTERN_PAGE_RANDOM,
					 PATTERN_PAGE_STRIDE, PATTERN_LINE_STRIDE };
enum { PATTERNS = sizeof(patterns) / sizeof(*patterns) };

static const size_t sizes[] = { 64,   128,  192,   1000,  1024,	 4095,	 4096,	 4104,	  4160,
				5000, 8192, 12288, 65536, 65664, 100000, 262144, 1000003, MOST };
enum { SIZES = sizeof(sizes) / sizeof(*sizes) };

static struct chain chain(enum pattern pattern, size_t bytes, size_t stride, uint64_t seed)
{
	return (struct chain){ .pattern = pattern,
			       .bytes = bytes,
			       .stride = stride,
			       .page = PAGE,
			       .line = LINE,
			       .seed = seed };
}

/*
 * One round over links laid in memory: as many steps as elements, each element once, inside the
 * buffer, and back at the start.
 */
static void check_links(const struct chain *c, char *memory, unsigned char *seen)
{
	const size_t elements = chain_elements(c);
	char *at;

	if (!elements)
		return;
	memset(memory, 0, c->bytes);
	memset(seen, 0, c->bytes);
	chain_lay(c, memory, false, 0, elements / 3); /* in parts, as several threads would */
	chain_lay(c, memory, false, elements / 3, elements);
	at = memory + chain_at(c, 0);
	for (size_t i = 0; i < elements; i++) {
		size_t offset = (size_t)(at - memory);

		assert_true(offset + sizeof(void *) <= c->bytes);
		assert_int_equal(seen[offset], 0);
		seen[offset] = 1;
		assert_true(at == memory + chain_at(c, i));
		at = *(char **)at;
	}
	assert_true(at == memory + chain_at(c, 0));
}

static void test_one_cycle_through_all_elements(void **state)
{
	char *memory = malloc(MOST);
	unsigned char *seen = malloc(MOST);

	(void)state;
	for (unsigned p = 0; p < PATTERNS; p++)
		for (unsigned i = 0; i < SIZES; i++)
			for (uint64_t seed = 1; seed < 4; seed++) {
				struct chain c = chain(patterns[p], sizes[i], LINE, seed);

				check_links(&c, memory, seen);
			}
	for (size_t stride = 8; stride <= PAGE; stride *= 2)
		for (size_t bytes = stride; bytes < 300000; bytes = bytes * 5 / 4 + 8) {
			struct chain c = chain(PATTERN_CYCLE, bytes, stride, bytes);

			check_links(&c, memory, seen);
		}
	free(memory);
	free(seen);
}

static void test_ints(void **state)
{
	int *array = malloc(MOST);
	unsigned char *seen = malloc(MOST / sizeof(int));

	(void)state;
	for (unsigned i = 3; i < SIZES; i++) {
		struct chain c = chain(PATTERN_CYCLE, sizes[i] / 4 * 4, sizeof(int), i);
		size_t elements = chain_elements(&c), at = chain_at(&c, 0) / sizeof(int);

		memset(seen, 0, MOST / sizeof(int));
		chain_lay(&c, array, true, 0, elements);
		for (size_t n = 0; n < elements; n++) {
			assert_int_equal(seen[at]++, 0);
			at = (size_t)array[at];
		}
		assert_true(at == chain_at(&c, 0) / sizeof(int));
	}
	free(array);
	free(seen);
}

static void test_page_orders(void **state)
{
	struct chain cycle = chain(PATTERN_PAGE_CYCLE, 64 * PAGE, LINE, 7),
		     random = chain(PATTERN_PAGE_RANDOM, 1000 * PAGE, LINE, 7);
	unsigned lines[PAGE / LINE] = { 0 }, changed = 0;

	(void)state;
	for (size_t i = 1; i < chain_elements(&cycle); i++) /* a page is used up before the next */
		assert_int_equal(chain_at(&cycle, i) / PAGE == chain_at(&cycle, i - 1) / PAGE,
				 i % (PAGE / LINE) != 0);
	/* each page has an order of its own: no stride repeats */
	for (size_t first = PAGE / LINE; first < chain_elements(&cycle); first += PAGE / LINE) {
		unsigned same = 0;

		for (size_t i = first; i < first + PAGE / LINE; i++)
			same += chain_at(&cycle, i) % PAGE ==
				chain_at(&cycle, i - PAGE / LINE) % PAGE;
		assert_in_range(same, 0, PAGE / LINE / 4); /* expected: 1 */
	}
	assert_int_equal(chain_elements(&random), 1000);
	for (size_t i = 0; i < 1000; i++) {
		lines[chain_at(&random, i) % PAGE / LINE]++;
		assert_int_equal(chain_at(&random, i) % LINE, 0);
	}
	for (unsigned i = 0; i < PAGE / LINE; i++)
		changed += lines[i] > 0;
	assert_true(changed > 50); /* of 64 lines; the line differs */
}

static void test_published_numbers_of_elements(void **state)
{
	(void)state;
	for (size_t elements = 16; elements <= 262144; elements *= 2) {
		struct chain c = chain(PATTERN_PAGE_STRIDE, elements * (PAGE + 8), LINE, 1);

		assert_int_equal(chain_elements(&c), elements);
		assert_int_equal(chain_at(&c, 1), PAGE + 8);
	}
}

/* Consecutive elements must not be neighbours in memory, or a prefetcher learns the order. */
static void test_random_orders_have_no_favourite_step(void **state)
{
	enum { NODES = 1 << 14 };
	struct chain c = chain(PATTERN_CYCLE, NODES * LINE, LINE, 3);
	unsigned *steps = calloc(2 * NODES, sizeof(*steps)), most = 0, near = 0;

	(void)state;
	for (size_t i = 1; i < NODES; i++) {
		long step = (long)(chain_at(&c, i) / LINE) - (long)(chain_at(&c, i - 1) / LINE);

		near += labs(step) <= 2;
		if (++steps[step + NODES] > most)
			most = steps[step + NODES];
	}
	/* of 16383 steps over 32767 values: a Poisson mean of at most 1 */
	assert_true(most < 12);
	assert_true(near < 20); /* expected: 4 */
	free(steps);
}

static void test_kernels_follow_their_chains(void **state)
{
	static const unsigned numbers[] = { 1, 2, 3, 4, 6, 8, 12, 16, 24, 32 };
	char *memory = aligned_alloc(PAGE, 64 * PAGE);
	struct chain c = chain(PATTERN_CYCLE, 64 * PAGE, LINE, 5);
	size_t elements = chain_elements(&c);

	(void)state;
	chain_lay(&c, memory, false, 0, elements);
	for (unsigned n = 0; n < sizeof(numbers) / sizeof(*numbers); n++) {
		unsigned chains = numbers[n], each = chase_loads(chains) / chains;
		union position at[MOST_CHAINS];

		assert_non_null(chase_choose(chains, false));
		for (unsigned i = 0; i < chains; i++)
			at[i].element = memory + chain_at(&c, elements / chains * i);
		chase_choose(chains, false)(at, memory, 1000);
		for (unsigned i = 0; i < chains; i++)
			assert_true(at[i].element ==
				    memory + chain_at(&c, (elements / chains * i + 1000ul * each) %
								  elements));
		chase_choose(chains, false)(at, memory, 0);
		assert_true(at[0].element == memory + chain_at(&c, 1000ul * each % elements));
	}
	assert_null(chase_choose(5, false));
	assert_null(chase_choose(0, false));
	assert_null(chase_choose(33, false));
	assert_null(chase_choose(2, true));
	free(memory);
}

/*
 * The loop of a chase has at least 16 loads, one counter, one branch, and nothing else; with many
 * chains some positions are kept on the stack.
 */
static const struct expectation expectations[] = {
#ifdef __x86_64__
#define COUNTING " sub add dec inc cmp test jne "
	{ "chase_1", "mov", "(%r", 16, COUNTING },
	{ "chase_2", "mov", "(%r", 16, COUNTING },
	{ "chase_8", "mov", "(%r", 16, COUNTING },
	/* the counter may be on the stack, too */
	{ "chase_32", "mov", "(%r", 32, COUNTING "subq addq mov " },
	{ "chase_ints", "movslq movsxd", "(%r", 16, COUNTING },
#endif
#ifdef __aarch64__
#define COUNTING " sub subs add cmp b.ne cbnz "
	{ "chase_1", "ldr", "[x", 16, COUNTING },
	{ "chase_2", "ldr", "[x", 16, COUNTING },
	{ "chase_8", "ldr", "[x", 16, COUNTING },
	{ "chase_ints", "ldrsw", "[x", 16, COUNTING },
#endif
	{ .function = NULL }
};

static void test_loops_are_what_was_meant(void **state)
{
	const char *why_not = unreadable();

	if (why_not) {
		printf("# machine code not looked at: %s\n", why_not);
		skip();
	}
	for (const struct expectation *e = expectations; e->function; e++)
		loop_is_what_was_meant(&(void *){ (void *)e });
	(void)state;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_loops_are_what_was_meant),
		cmocka_unit_test(test_one_cycle_through_all_elements),
		cmocka_unit_test(test_ints),
		cmocka_unit_test(test_page_orders),
		cmocka_unit_test(test_published_numbers_of_elements),
		cmocka_unit_test(test_random_orders_have_no_favourite_step),
		cmocka_unit_test(test_kernels_follow_their_chains),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
