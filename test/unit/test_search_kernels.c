/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kernels of search: their results against the reference's, and their machine code; and keys
 * that are grouped by owner.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "bench/search/searchers.h"
#include "bounded.h"
#include "cases.h"
#include "code.h"
#include "kit/random.h"
#include "suite.h"

#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))

/* ---- kernels ---- */

struct kernel {
	const char *name;
	search *run;
	unsigned width;
	bool branches;
};
static const struct kernel kernels[] = {
	{ "search_branchy_32", search_branchy_32, 4, true },
	{ "search_branchy_64", search_branchy_64, 8, true },
	{ "search_branchless_32", search_branchless_32, 4, false },
	{ "search_branchless_64", search_branchless_64, 8, false },
};

/* Uniform keys of a width. */
static struct recipe of_width(unsigned width, size_t n)
{
	return recipe_of(7, n ? n : 1, width, DISTRIBUTION_UNIFORM, 0);
}

static size_t lower_bound(const struct recipe *r, const void *array, size_t n, uint64_t key)
{
	size_t i = 0;

	while (i < n && key_get(r, array, i) < key)
		i++;
	return i;
}

static void check_search(const struct kernel *k, const struct recipe *r, const void *array,
			 size_t n, const void *keys, size_t count)
{
	uint32_t *answers = calloc(count + 1, sizeof(*answers));

	assert_non_null(answers);
	answers[count] = 0x5a5a5a5a;
	k->run(array, n, 1000, keys, count, answers);
	for (size_t i = 0; i < count; i++)
		assert_int_equal(answers[i], 1000 + lower_bound(r, array, n, key_get(r, keys, i)));
	assert_int_equal(answers[count], 0x5a5a5a5a);
	free(answers);
}

/* Makes keys: each element, its neighbours, and the extremes; returns how many. */
static size_t around(const struct recipe *r, const void *array, size_t n, void *keys)
{
	size_t count = 0;

	for (size_t i = 0; i < n; i++)
		for (int d = -1; d <= 1; d++)
			key_put(r, keys, count++, key_get(r, array, i) + (uint64_t)d);
	key_put(r, keys, count++, 0);
	key_put(r, keys, count++, recipe_largest(r));
	return count;
}

static int by_size_32(const void *a, const void *b)
{
	return *(const uint32_t *)a < *(const uint32_t *)b
		       ? -1
		       : *(const uint32_t *)a > *(const uint32_t *)b;
}

static int by_size_64(const void *a, const void *b)
{
	return *(const uint64_t *)a < *(const uint64_t *)b
		       ? -1
		       : *(const uint64_t *)a > *(const uint64_t *)b;
}

/*
 * Every length up to 70, and lengths around powers of two; from all elements equal to all distinct.
 */
static void finds_lower_bounds(void **state)
{
	static const uint64_t kinds[] = { 1, 2, 5, 50, 100000, UINT64_MAX };
	const struct kernel *k = *state;
	enum { MOST = 300 };
	uint64_t array[MOST], keys[3 * MOST + 2];

	for (size_t n = 0; n <= MOST;
	     n += n < 70 || n == 127 || n == 128 || n == 255 || n == 256 ? 1 : 63) {
		const struct recipe r = of_width(k->width, n);

		for (size_t kind = 0; kind < LENGTH(kinds); kind++) {
			for (size_t i = 0; i < n; i++)
				key_put(&r, array, i, random_mix(n * MOST + i + 1) % kinds[kind]);
			/* the largest key is in the array, too */
			if (kind + 1 == LENGTH(kinds) && n)
				key_put(&r, array, 0, recipe_largest(&r));
			qsort(array, n, k->width, k->width == 4 ? by_size_32 : by_size_64);
			check_search(k, &r, array, n, keys, around(&r, array, n, keys));
		}
	}
}

/* Equal elements are not walked one by one: with 2^20 keys that would take 2^41 steps. */
static void finds_the_first_of_many_equal(void **state)
{
	enum { N = 1 << 21 };
	const size_t count = cases(1 << 20);
	const struct kernel *k = *state;
	const struct recipe r = of_width(k->width, N);
	void *array = calloc(N, k->width), *keys = calloc(count, k->width);
	uint32_t *answers = calloc(count, sizeof(*answers));

	assert_true(array && keys && answers);
	key_put(&r, array, N - 1, 1);
	key_put(&r, keys, 0, 1);
	k->run(array, N, 0, keys, count, answers);
	assert_int_equal(answers[0], N - 1);
	for (size_t i = 1; i < count; i++)
		assert_int_equal(answers[i], 0);
	free(array);
	free(keys);
	free(answers);
}

/* ---- machine code ---- */

#ifdef __x86_64__
#define MOVES	      "cmov"
#define IS_JUMP(name) ((name)[0] == 'j')
#define CODE	      true
#elif defined(__aarch64__)
#define MOVES "csel"
#define IS_JUMP(name) \
	((name)[0] == 'b' || strncmp(name, "cb", 2) == 0 || strncmp(name, "tb", 2) == 0)
#define CODE true
#else
#define MOVES	      ""
#define IS_JUMP(name) false
#define CODE	      false
#endif

/* Instructions of a loop: from the target of a backward jump to that jump. */
struct inner {
	unsigned jumps, moves, loads;
};

static struct inner count_loop(const struct code *code, unsigned end)
{
	struct inner found = { 0 };

	for (unsigned i = end + 1; i-- > 0 && code->list[i].at >= code->list[end].target;) {
		found.jumps += IS_JUMP(code->list[i].name);
		found.moves += strncmp(code->list[i].name, MOVES, strlen(MOVES)) == 0;
		found.loads +=
			strchr(code->list[i].operands, '(') || strchr(code->list[i].operands, '[');
	}
	return found;
}

/*
 * A branchless kernel has a loop with a load, a conditional move, and a single jump, which counts
 * the turns. A branchy one has a loop with a load, no conditional move, and at least three jumps.
 */
static void chooses_as_it_says(void **state)
{
	static struct code code;
	const struct kernel *k = *state;
	bool right = false;

	disassemble(k->name, &code);
	if (!code.n)
		fail_msg("%s: no such function in this program", k->name);
	for (unsigned end = 0; end < code.n; end++) {
		struct inner loop;

		if (!code.list[end].target || code.list[end].target >= code.list[end].at)
			continue;
		loop = count_loop(&code, end);
		right |= k->branches ? loop.jumps >= 3 && !loop.moves && loop.loads
				     : loop.jumps == 1 && loop.moves && loop.loads;
	}
	if (!right)
		fail_msg("%s: no loop that searches by %s", k->name,
			 k->branches ? "branches" : "conditional moves");
}

static void reference_is_lower_bound(void **state)
{
	enum { N = 1000 };
	uint64_t array[N], keys[3 * N + 2];

	(void)state;
	for (unsigned width = 4; width <= 8; width += 4)
		/* 1: each element occurs 100 times */
		for (unsigned equal = 0; equal < 2; equal++) {
			const struct recipe r = recipe_of(1, N, width, DISTRIBUTION_UNIFORM, 0);

			recipe_fill_array(&r, array, 0, N, 0, N);
			for (size_t i = 0; equal && i < N; i++)
				key_put(&r, array, i, key_get(&r, array, i / 100 * 100));
			for (size_t i = around(&r, array, N, keys); i-- > 0;)
				assert_int_equal(search_reference(&r, array, key_get(&r, keys, i)),
						 lower_bound(&r, array, N, key_get(&r, keys, i)));
		}
}

/* ---- partitioning ---- */

static uint64_t digest(const struct recipe *r, const void *keys, size_t n)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += random_mix(key_get(r, keys, i) + 1);
	return sum;
}

/* Each owner gets the same keys as in place, in any order. */
static void hand_out_by(const struct recipe *r, const struct ranges *ranges, const void *keys,
			const void *in_place, const uint32_t *cut, size_t n)
{
	const bool wide = r->width == 8;
	uint64_t *to = calloc(n + 1, sizeof(*to));
	uint32_t *owner = calloc(n + 1, sizeof(*owner));
	size_t *count = calloc(ranges->parts, sizeof(*count)),
	       *next = calloc(ranges->parts, sizeof(*next));

	assert_true(to && owner && count && next);
	(wide ? find_owners_64 : find_owners_32)(keys, n, ranges, owner, count);
	for (unsigned i = 0; i < ranges->parts; i++) {
		assert_int_equal(count[i], cut[i + 1] - cut[i]);
		next[i] = cut[i];
	}
	(wide ? hand_out_64 : hand_out_32)(keys, n, owner, to, next);
	for (unsigned i = 0; i < ranges->parts; i++) {
		const size_t from = (size_t)cut[i] * r->width;

		assert_int_equal(next[i], cut[i + 1]);
		assert_true(digest(r, (char *)to + from, count[i]) ==
			    digest(r, (const char *)in_place + from, count[i]));
	}
	free(to);
	free(owner);
	free(count);
	free(next);
}

static void partition_by(const struct recipe *r, unsigned parts, size_t n)
{
	uint64_t *keys = calloc(n + 1, sizeof(*keys)), *dealt = calloc(n + 1, sizeof(*dealt)),
		 *array = calloc(r->n, sizeof(*array)), before;
	uint32_t *cut = calloc(2 * (size_t)parts + 1, sizeof(*cut));
	struct ranges ranges;

	assert_true(keys && dealt && array && cut);
	recipe_fill_array(r, array, 0, r->n, 0, r->n);
	for (size_t i = 0; i < n; i++)
		/* every third key is an element, so that ends of ranges are among the keys */
		key_put(r, keys, i, i % 3 ? recipe_key(r, 0, i) : recipe_element(r, i % r->n));
	before = digest(r, keys, n);
	memcpy(dealt, keys, n * sizeof(*keys));
	assert_int_equal(ranges_even(&ranges, r, parts), 0);
	(r->width == 4 ? partition_32 : partition_64)(keys, n, &ranges, cut, cut + parts + 1);
	assert_true(digest(r, keys, n) == before);
	assert_int_equal(cut[0], 0);
	assert_int_equal(cut[parts], n);
	hand_out_by(r, &ranges, dealt, keys, cut, n);
	for (unsigned i = 0; i < parts; i++)
		for (uint32_t j = cut[i]; j < cut[i + 1]; j++) {
			const size_t at = search_reference(r, array, key_get(r, keys, j));

			assert_true(i == 0 || at >= ranges.begin[i]);
			assert_true(i + 1 == parts || at < ranges.begin[i + 1]);
		}
	ranges_free(&ranges);
	free(keys);
	free(dealt);
	free(array);
	free(cut);
}

static void keys_are_grouped(void **state)
{
	static const unsigned parts[] = { 1, 2, 3, 8, 13, 64 };
	static const size_t sizes[] = { 0, 1, 2, 100, 5000 };

	(void)state;
	for (unsigned width = 4; width <= 8; width += 4)
		for (size_t p = 0; p < LENGTH(parts); p++)
			for (size_t n = 0; n < LENGTH(sizes); n++) {
				const struct recipe uniform = recipe_of(5, 1000, width,
									DISTRIBUTION_UNIFORM, 0),
						    zipf = recipe_of(5, 64, width,
								     DISTRIBUTION_ZIPF, 1.5);

				partition_by(&uniform, parts[p], sizes[n]);
				partition_by(&zipf, parts[p], sizes[n]);
			}
}

/* ---- the table ---- */

static void add(struct suite *s, const char *subject, const char *what, CMUnitTestFunction function,
		const void *row)
{
	suite_add(s, subject, what, function, begin_bounded, end_bounded, row);
}

int main(void)
{
	static struct suite s;
	const char *why_not = CODE ? unreadable() : "not known on this architecture";

	for (size_t i = 0; i < LENGTH(kernels); i++) {
		add(&s, kernels[i].name, "finds_lower_bounds", finds_lower_bounds, &kernels[i]);
		add(&s, kernels[i].name, "finds_the_first_of_many_equal",
		    finds_the_first_of_many_equal, &kernels[i]);
		if (!why_not)
			add(&s, kernels[i].name, "chooses_as_it_says", chooses_as_it_says,
			    &kernels[i]);
	}
	add(&s, "", "reference_is_lower_bound", reference_is_lower_bound, NULL);
	add(&s, "", "keys_are_grouped", keys_are_grouped, NULL);
	if (why_not)
		printf("# machine code not looked at: %s\n", why_not);
	return _cmocka_run_group_tests("search_kernels", s.test, s.n, NULL, NULL);
}
