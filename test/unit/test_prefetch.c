/* SPDX-License-Identifier: Apache-2.0 */
/* Walks of prefetch: each order visits each element once; the loops have one load. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/flush.h"
#include "bench/prefetch/prefetch.h"
#include "code.h"

enum { LINE = 64, MOST_BYTES = 1 << 22 };

static const enum order orders[] = { ORDER_FORWARD, ORDER_BACKWARD, ORDER_RANDOM };
enum { ORDERS = sizeof(orders) / sizeof(*orders) };

/* Strides, and how many elements then fit into MOST_BYTES. */
static const struct {
	size_t stride;
	uint64_t elements;
} sizes[] = { { 8, 1 },	     { 8, 2 },	    { 8, 5 },	   { 8, 2048 },
	      { 32, 4096 },  { 64, 256 },   { 64, 65536 }, { 192, 1024 },
	      { 320, 4096 }, { 4160, 512 }, { 16384, 256 } };
enum { SIZES = sizeof(sizes) / sizeof(*sizes) };

static struct walk walk(size_t stride, size_t elements)
{
	return (struct walk){ aligned_alloc(LINE, MOST_BYTES), stride, elements,
			      malloc(elements * sizeof(uint32_t)) };
}

static void end(struct walk *w)
{
	free(w->base);
	free(w->table);
}

/* As many steps as elements, each element once, and back at the start. */
static void check_order(const struct walk *w, unsigned char *seen)
{
	char *const first = w->base + w->table[0] * sizeof(uint64_t), *at = first;

	memset(seen, 0, w->elements);
	for (size_t i = 0; i < w->elements; i++) {
		const size_t offset = (size_t)(at - w->base);

		assert_int_equal(offset % w->stride, 0);
		assert_true(offset / w->stride < w->elements);
		assert_int_equal(offset, w->table[i] * sizeof(uint64_t));
		assert_int_equal(seen[offset / w->stride], 0);
		seen[offset / w->stride] = 1;
		at = *(char **)at;
	}
	assert_true(at == first);
}

static void each_order_visits_each_element_once(void **state)
{
	unsigned char *seen = malloc(MOST_BYTES / 8);

	(void)state;
	for (unsigned i = 0; i < SIZES; i++) {
		struct walk w = walk(sizes[i].stride, sizes[i].elements);

		for (unsigned j = 0; j < ORDERS; j++)
			for (uint64_t seed = 0; seed < 4; seed++) {
				walk_lay(&w, orders[j], seed);
				check_order(&w, seen);
			}
		end(&w);
	}
	free(seen);
}

/*
 * Both loops load what the order says: the sum of a walk is the sum of all addresses, even after
 * the lines were evicted; a walk that lacks an element has another sum.
 */
static void loops_load_the_whole_walk(void **state)
{
	(void)state;
	for (unsigned i = 0; i < SIZES; i++) {
		struct walk w = walk(sizes[i].stride, sizes[i].elements);

		for (unsigned j = 0; j < ORDERS; j++) {
			uint64_t sum;

			walk_lay(&w, orders[j], 1);
			sum = walk_sum(&w);
			walk_evict(&w, LINE);
			assert_true(walk_independent(&w, 1) == sum);
			walk_evict(&w, LINE);
			assert_true(walk_dependent(&w, 1) == sum);
			assert_true(walk_independent(&w, 3) == 3 * sum);
			assert_true(walk_dependent(&w, 3) == 3 * sum);
			w.elements--;
			assert_true(walk_independent(&w, 1) != sum);
			assert_true(walk_dependent(&w, 1) != sum);
			w.elements++;
		}
		end(&w);
	}
}

/* Pages that a walk's eviction touched: each must be new. */
static struct {
	char *base;
	size_t page, n;
	_Atomic unsigned touched[64];
} guarded;

static void note_page(int signal, siginfo_t *info, void *context)
{
	const size_t i = (size_t)((char *)info->si_addr - guarded.base) / guarded.page;

	(void)signal, (void)context;
	if ((char *)info->si_addr < guarded.base || i >= guarded.n)
		abort();
	guarded.touched[i]++;
	mprotect(guarded.base + i * guarded.page, guarded.page, PROT_READ | PROT_WRITE);
}

/* Evicting a line needs the right to read it: with one line a page, each page is a fault. */
static void each_line_is_evicted(void **state)
{
	enum { PAGES = 64 };
	const struct sigaction note = { .sa_sigaction = note_page, .sa_flags = SA_SIGINFO };
	struct sigaction before;
	struct walk w;

	(void)state;
	if (flush_lacks()) {
		print_message("# %s\n", flush_lacks());
		skip();
	}
	guarded.page = (size_t)sysconf(_SC_PAGESIZE);
	guarded.n = PAGES;
	guarded.base =
		mmap(NULL, PAGES * guarded.page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_true(guarded.base != MAP_FAILED);
	w = (struct walk){ guarded.base, guarded.page, PAGES, NULL };
	assert_int_equal(sigaction(SIGSEGV, &note, &before), 0);
	walk_evict(&w, LINE);
	sigaction(SIGSEGV, &before, NULL);
	if (!guarded.touched[0]) {
		print_message("# an emulator, whose caches need not be evicted\n");
		skip();
	}
	for (unsigned i = 0; i < PAGES; i++)
		assert_int_equal(guarded.touched[i], 1);
	munmap(guarded.base, PAGES * guarded.page);
}

/* Neighbours in a random order are seldom neighbours in memory, nor equally far apart. */
static void a_random_order_has_no_stride(void **state)
{
	enum { ELEMENTS = 4096 };
	struct walk w = walk(LINE, ELEMENTS);
	unsigned near = 0, again = 0;
	int64_t last = 0;

	(void)state;
	walk_lay(&w, ORDER_RANDOM, 1);
	for (unsigned i = 1; i < ELEMENTS; i++) {
		const int64_t gap = ((int64_t)w.table[i] - w.table[i - 1]) * 8 / LINE;

		near += gap >= -2 && gap <= 2;
		again += gap == last;
		last = gap;
	}
	end(&w);
	assert_true(near < ELEMENTS / 100);
	assert_true(again < ELEMENTS / 100);
}

/* ---- machine code ---- */

#if defined(__x86_64__)
#define ADDED_LOADED "add " AT "," R
#define STEPPED	     LOADED
enum { MOST = 5 };
#else
#define ADDED_LOADED "add .*"
#define STEPPED	     LOADED "|ldr w[0-9]+, " AT ", #4" /* and continues in the table */
enum { MOST = 6 };
#endif
static const struct {
	struct shape shape;
	unsigned most; /* instructions: a second load would exceed it */
} loops[] = {
#if defined(__x86_64__) || defined(__aarch64__)
	{ { "walk_independent", LOOP, ARITHMETIC, { STEPPED, ADDED_LOADED } }, MOST },
	{ { "walk_dependent", LOOP, ARITHMETIC, { LOADED } }, 5 },
#endif
	{ .most = 0 }
};

static unsigned inner_loop(const char *function)
{
	static struct code code;
	unsigned shortest = MOST_INSTRUCTIONS;

	disassemble(function, &code);
	for (unsigned end = 0; end < code.n; end++)
		for (unsigned i = 0; i <= end; i++)
			if (code.list[end].target == code.list[i].at && end - i + 1 < shortest)
				shortest = end - i + 1;
	return shortest;
}

static void loops_are_what_was_meant(void **state)
{
	(void)state;
	if (unreadable()) {
		print_message("skipped: %s\n", unreadable());
		skip();
	}
	for (size_t i = 0; loops[i].most; i++) {
		void *shape = (void *)&loops[i].shape;

		has_the_shape_that_was_meant(&shape);
		assert_in_range(inner_loop(loops[i].shape.function), 1, loops[i].most);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_order_visits_each_element_once),
		cmocka_unit_test(loops_load_the_whole_walk),
		cmocka_unit_test(each_line_is_evicted),
		cmocka_unit_test(a_random_order_has_no_stride),
		cmocka_unit_test(loops_are_what_was_meant),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
