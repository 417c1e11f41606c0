/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The search benchmark: results and machine code of its kernels, keys and ranges, rings between
 * threads, and the times of a sample.
 */
#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "bench/search/searchers.h"
#include "bounded.h"
#include "cases.h"
#include "code.h"
#include "kit/random.h"

#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))

static void *apart(size_t bytes)
{
	void *p = aligned_alloc(APART, (bytes + APART) / APART * APART);

	assert_non_null(p);
	return p;
}

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
 * Every length up to 70, and lengths around powers of two; from one distinct element, so that there
 * are duplicates, to all distinct.
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

/* ---- elements and keys ---- */

static void elements_are_sorted_and_spread(void **state)
{
	static const size_t sizes[] = { 1, 2, 3, 7, 100, 12345 };

	(void)state;
	for (unsigned width = 4; width <= 8; width += 4)
		for (size_t s = 0; s < LENGTH(sizes); s++) {
			const size_t n = sizes[s];
			const struct recipe r = recipe_of(1, n, width, DISTRIBUTION_UNIFORM, 0);
			uint64_t *array = calloc(n + 3, sizeof(*array));

			assert_non_null(array);
			/* in parts, as threads do */
			recipe_fill_array(&r, array, 0, n, n / 2, n + 3);
			recipe_fill_array(&r, array, 0, n, 0, n / 2);
			assert_true(key_get(&r, array, 0) == 0);
			assert_true(n == 1 || key_get(&r, array, n - 1) == recipe_largest(&r));
			for (size_t i = 0; i < n; i++) {
				assert_true(i == 0 ||
					    key_get(&r, array, i - 1) < key_get(&r, array, i));
				assert_int_equal(recipe_about(&r, key_get(&r, array, i)), i);
			}
			for (size_t i = n; i < n + 3; i++)
				assert_true(key_get(&r, array, i) == recipe_largest(&r));
			/* a rank's part */
			recipe_fill_array(&r, array, n / 3, n / 2, 0, n / 2 + 1);
			for (size_t i = 0; i < n / 2; i++)
				assert_true(key_get(&r, array, i) == recipe_element(&r, n / 3 + i));
			assert_true(key_get(&r, array, n / 2) == recipe_largest(&r));
			free(array);
		}
}

static void reference_is_lower_bound(void **state)
{
	enum { N = 1000 };
	uint64_t array[N], keys[3 * N + 2];

	(void)state;
	for (unsigned width = 4; width <= 8; width += 4)
		for (unsigned equal = 0; equal < 2; equal++) { /* 1: elements 100 times each */
			const struct recipe r = recipe_of(1, N, width, DISTRIBUTION_UNIFORM, 0);

			recipe_fill_array(&r, array, 0, N, 0, N);
			for (size_t i = 0; equal && i < N; i++)
				key_put(&r, array, i, key_get(&r, array, i / 100 * 100));
			for (size_t i = around(&r, array, N, keys); i-- > 0;)
				assert_int_equal(search_reference(&r, array, key_get(&r, keys, i)),
						 lower_bound(&r, array, N, key_get(&r, keys, i)));
		}
}

static void streams_begin_with_extremes(void **state)
{
	static const double skew[] = { 0, 1, 0.9 };

	(void)state;
	for (unsigned width = 4; width <= 8; width += 4)
		for (unsigned d = DISTRIBUTION_UNIFORM; d <= DISTRIBUTION_HOT; d++) {
			const struct recipe r = recipe_of(1, 1000, width, d, skew[d]);
			uint64_t keys[100];

			recipe_fill_stream(&r, keys, 3, 100);
			assert_true(key_get(&r, keys, 0) == 0 &&
				    key_get(&r, keys, 1) == recipe_largest(&r));
			for (size_t i = 0; i < 100; i++)
				assert_true(key_get(&r, keys, i) == recipe_key(&r, 3, i));
			assert_true(recipe_key(&r, 3, 50) != recipe_key(&r, 4, 50) ||
				    d == DISTRIBUTION_ZIPF);
		}
}

/*
 * The mean of chi-square plus 6 standard deviations: a correct distribution exceeds this bound once
 * in a million.
 */
static bool is_likely(const double *expected, const unsigned *found, unsigned n)
{
	double chi = 0;

	for (unsigned i = 0; i < n; i++)
		chi += (found[i] - expected[i]) * (found[i] - expected[i]) / expected[i];
	return chi < n - 1 + 6 * sqrt(2.0 * (n - 1));
}

static void zipf_is_exact(void **state)
{
	static const double exponents[] = { 0.1, 0.5, 0.99, 1, 1.01, 1.5, 2, 3 };
	enum { MOST = 60, DRAWS = 100000 };
	const unsigned draws = cases(DRAWS);

	(void)state;
	for (size_t e = 0; e < LENGTH(exponents); e++)
		for (unsigned n = 1; n <= MOST; n += n < 4 ? 1 : 28) {
			const struct zipf z = zipf_of(n, exponents[e]);
			double expected[MOST], sum = 0;
			unsigned found[MOST] = { 0 };

			for (unsigned r = 1; r <= n; r++)
				sum += expected[r - 1] = pow(r, -exponents[e]);
			for (unsigned r = 0; r < n; r++)
				expected[r] *= draws / sum;
			for (unsigned i = 0; i < draws; i++) {
				const uint64_t r =
					zipf_draw(&z, random_mix((uint64_t)i * 1000 + n));

				assert_in_range(r, 1, n);
				found[r - 1]++;
			}
			if (n > 1 && !is_likely(expected, found, n))
				fail_msg("%u numbers, exponent %g: not the probabilities of Zipf's "
					 "law",
					 n, exponents[e]);
		}
}

/* With many numbers: in bins between powers of two, whose weights are summed exactly. */
static void zipf_is_exact_of_many(void **state)
{
	enum { N = 1 << 16, BINS = 17, DRAWS = 400000 };
	static const double exponents[] = { 0.5, 1, 1.3 };
	const unsigned draws = cases(DRAWS);

	(void)state;
	for (size_t e = 0; e < LENGTH(exponents); e++) {
		const struct zipf z = zipf_of(N, exponents[e]);
		double expected[BINS] = { 0 }, sum = 0;
		unsigned found[BINS] = { 0 };

		for (unsigned r = 1; r <= N; r++) {
			const double weight = pow(r, -exponents[e]);

			sum += weight;
			expected[31 - __builtin_clz(r)] += weight;
		}
		for (unsigned i = 0; i < BINS; i++)
			expected[i] *= draws / sum;
		for (unsigned i = 0; i < draws; i++)
			found[31 - __builtin_clz((unsigned)zipf_draw(
					   &z, random_mix((i + UINT64_C(1)) << 20)))]++;
		assert_true(is_likely(expected, found, BINS - 1)); /* the last bin has one number */
	}
}

/* With Zipf every key is an element; the first element is the most frequent key. */
static void zipf_keys_are_elements(void **state)
{
	enum { N = 1000, KEYS = 5000 };
	const struct recipe r = recipe_of(5, N, 4, DISTRIBUTION_ZIPF, 1);
	uint32_t array[N], keys[KEYS];
	unsigned first = 0;

	(void)state;
	recipe_fill_array(&r, array, 0, N, 0, N);
	recipe_fill_stream(&r, keys, 0, KEYS);
	for (size_t i = 0; i < KEYS; i++) {
		const size_t at = search_reference(&r, array, keys[i]);

		assert_true(at < N && array[at] == keys[i]);
		first += at == 0;
	}
	assert_in_range(first, KEYS / 7.485 * 0.8, KEYS / 7.485 * 1.2); /* 1 + 1/2 + ... + 1/1000 */
}

static void hot_keys_are_in_the_first_tenth(void **state)
{
	enum { N = 1000, KEYS = 20000 };
	static const double shares[] = { 0, 0.5, 0.9, 1 };

	(void)state;
	for (unsigned width = 4; width <= 8; width += 4)
		for (size_t s = 0; s < LENGTH(shares); s++) {
			const struct recipe r = recipe_of(5, N, width, DISTRIBUTION_HOT, shares[s]);
			unsigned hot = 0, firsts = 0;

			for (size_t i = 2; i < KEYS; i++) {
				const size_t about = recipe_about(&r, recipe_key(&r, 0, i));

				hot += about < N / TENTH;
				firsts += about < N / TENTH / 2;
			}
			assert_true(fabs((double)hot / KEYS - shares[s]) < 0.02);
			/* hot keys are uniform within the first tenth */
			assert_true(fabs((double)firsts / KEYS - shares[s] / 2) < 0.02);
		}
}

/* ---- ranges ---- */

static void check_ranges(const struct ranges *r, const struct recipe *recipe)
{
	assert_int_equal(r->begin[0], 0);
	assert_int_equal(r->begin[r->parts], recipe->n);
	for (unsigned i = 0; i < r->parts; i++)
		assert_true(r->begin[i] < r->begin[i + 1]);
	assert_true(r->slots >= r->parts && (r->slots & (r->slots - 1)) == 0);
	for (unsigned i = 1; i < r->slots; i++)
		assert_true(key_get(recipe, r->limit, i - 1) ==
			    (i < r->parts ? recipe_element(recipe, r->begin[i] - 1)
					  : recipe_largest(recipe)));
}

static void ranges_are_as_long_or_as_heavy(void **state)
{
	static const unsigned parts[] = { 1, 2, 3, 7, 8, 9, 100 };
	static const double skew[] = { 0, 1, 0.9 };

	(void)state;
	for (unsigned width = 4; width <= 8; width += 4)
		for (size_t p = 0; p < LENGTH(parts); p++)
			for (unsigned d = DISTRIBUTION_UNIFORM; d <= DISTRIBUTION_HOT; d++) {
				const struct recipe few = recipe_of(5, parts[p], width, d, skew[d]),
						    many = recipe_of(5, 100000, width, d, skew[d]);
				struct ranges r;

				assert_int_equal(ranges_even(&r, &few, parts[p]), 0);
				check_ranges(&r, &few);
				ranges_free(&r);
				assert_int_equal(ranges_weighted(&r, &few, parts[p], 1 << 10), 0);
				check_ranges(&r, &few);
				ranges_free(&r);
				assert_int_equal(ranges_even(&r, &many, parts[p]), 0);
				check_ranges(&r, &many);
				for (unsigned i = 0; i < parts[p]; i++)
					assert_in_range(r.begin[i + 1] - r.begin[i],
							100000 / parts[p], 100000 / parts[p] + 1);
				ranges_free(&r);
				assert_int_equal(ranges_weighted(&r, &many, parts[p], 1 << 14), 0);
				check_ranges(&r, &many);
				ranges_free(&r);
			}
}

/*
 * With hot keys the busiest of 8 owners gets over 85 % of them from even ranges, and less than 1.1
 * times its share from weighted ones.
 */
static void weighted_ranges_are_as_heavy(void **state)
{
	enum { PARTS = 8, KEYS = 1 << 16, N = 100000 };
	const struct recipe r = recipe_of(5, N, 4, DISTRIBUTION_HOT, 0.9);
	uint32_t *keys = calloc(KEYS, sizeof(*keys)), cut[PARTS + 1], next[PARTS];
	struct ranges even, weighted;
	unsigned most = 0;

	(void)state;
	assert_non_null(keys);
	recipe_fill_stream(&r, keys, 0, KEYS);
	assert_int_equal(ranges_even(&even, &r, PARTS), 0);
	assert_int_equal(ranges_weighted(&weighted, &r, PARTS, 1 << 14), 0);
	partition_32(keys, KEYS, &even, cut, next);
	assert_true(cut[1] > 0.85 * KEYS);
	partition_32(keys, KEYS, &weighted, cut, next);
	for (unsigned i = 0; i < PARTS; i++)
		most = cut[i + 1] - cut[i] > most ? cut[i + 1] - cut[i] : most;
	assert_true(most < 1.1 * KEYS / PARTS);
	ranges_free(&even);
	ranges_free(&weighted);
	free(keys);
}

/* ---- partitioning ---- */

static uint64_t digest(const struct recipe *r, const void *keys, size_t n)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += random_mix(key_get(r, keys, i) + 1);
	return sum;
}

/* The same keys of each owner as in place, in any order. */
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
		/* every third an element, so that ends of ranges are among the keys */
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

/* ---- rings ---- */

static void a_ring_is_bounded(void **state)
{
	enum { KEYS = 5, BYTES = KEYS * sizeof(uint32_t) };
	struct ring *r = apart(ring_bytes(BYTES));
	struct packet *copy = apart(packet_bytes(BYTES)), *p;
	const struct packet *first;
	uint32_t put = 0, got = 0;

	(void)state;
	ring_open(r, BYTES);
	for (unsigned round = 0; round < 3 * RING; round++) {
		while ((p = ring_room(r))) {
			p->keys = KEYS;
			memcpy(p->key, &put, sizeof(put));
			put++;
			ring_put(r);
		}
		assert_int_equal(put - got, RING);
		for (unsigned i = 0; i <= round % RING; i++) {
			if (i % 2) {
				assert_true(ring_take_shared(r, copy));
				first = copy;
			} else {
				first = ring_first(r);
				assert_non_null(first);
			}
			assert_int_equal(first->keys, KEYS);
			assert_int_equal(*(const uint32_t *)first->key, got++);
			if (!(i % 2))
				ring_took(r);
		}
	}
	while (ring_take_shared(r, copy))
		assert_int_equal(*(const uint32_t *)copy->key, got++);
	assert_int_equal(put, got);
	assert_null(ring_first(r));
	assert_true(ring_is_empty(r));
	free(r);
	free(copy);
}

/* ---- a dispatcher and searchers ---- */

enum { MOST_SEARCHERS = 9, PACKET = 33, STREAM = 60 * PACKET, ELEMENTS = 1000 };

/* A flow set up as in a trial, and all that it points to. */
struct run {
	struct flow flow;
	struct recipe recipe;
	struct ranges ranges;
	struct stream stream;
	struct outlet outlet[MOST_SEARCHERS];
	struct part part[MOST_SEARCHERS];
	void *array;
	_Atomic bool stop;
	struct searcher searcher[MOST_SEARCHERS];
	struct histogram times[MOST_SEARCHERS];
};

struct one {
	pthread_t thread;
	struct run *run;
	unsigned me;
};

static struct run *run_new(unsigned searchers, unsigned width, enum distribution distribution,
			   deal *deal, take *take)
{
	struct run *r = apart(sizeof(*r));

	memset(r, 0, sizeof(*r));
	r->recipe = recipe_of(3, ELEMENTS, width, distribution, 0.9);
	assert_int_equal(ranges_even(&r->ranges, &r->recipe, searchers), 0);
	r->array = apart(ELEMENTS * (size_t)width);
	recipe_fill_array(&r->recipe, r->array, 0, ELEMENTS, 0, ELEMENTS);
	r->stream = (struct stream){ .key = apart(STREAM * (size_t)width),
				     .keys = STREAM,
				     .packet = PACKET,
				     .width = width };
	recipe_fill_stream(&r->recipe, r->stream.key, 0, STREAM);
	for (unsigned i = 0; i < searchers; i++) {
		const size_t begin = deal == deal_in_turn ? 0 : r->ranges.begin[i],
			     end = deal == deal_in_turn ? ELEMENTS : r->ranges.begin[i + 1];

		r->searcher[i] =
			(struct searcher){ .ring = apart(ring_bytes(PACKET * (size_t)width)),
					   .copy = apart(packet_bytes(PACKET * (size_t)width)),
					   .answers = apart(PACKET * sizeof(uint32_t)),
					   .times = &r->times[i] };
		ring_open(r->searcher[i].ring, PACKET * (size_t)width);
		r->outlet[i].ring = r->searcher[i].ring;
		r->part[i] = (struct part){ (char *)r->array + begin * width, end - begin,
					    (uint32_t)begin };
	}
	r->flow = (struct flow){ .searchers = searchers,
				 .search = width == 4 ? search_branchy_32 : search_branchless_64,
				 .take = take,
				 .deal = deal,
				 .part = r->part,
				 .searcher = r->searcher,
				 .dealer = { .stream = &r->stream,
					     .ranges = &r->ranges,
					     .outlets = searchers,
					     .outlet = r->outlet } };
	return r;
}

static void run_free(struct run *r)
{
	for (unsigned i = 0; i < r->flow.searchers; i++) {
		free(r->searcher[i].ring);
		free(r->searcher[i].copy);
		free(r->searcher[i].answers);
	}
	ranges_free(&r->ranges);
	free(r->array);
	free(r->stream.key);
	free(r);
}

static void *search_all(void *argument)
{
	struct one *o = argument;

	flow_search(&o->run->flow, o->me);
	return NULL;
}

/* A dealer that stops itself after `until` packets: their number must not depend on time. */
static deal *dealing;
static uint64_t until;
static struct run *dealt_to;

static void deal_some(struct dealer *d)
{
	dealing(d);
	if (d->stream->dealt >= until)
		atomic_store(&dealt_to->stop, true);
}

static uint64_t sample(struct run *r, uint64_t packets)
{
	struct one of[MOST_SEARCHERS];
	uint64_t done;

	dealing = r->flow.deal;
	dealt_to = r;
	until = r->stream.dealt + packets;
	atomic_store(&r->stop, false);
	flow_reset(&r->flow);
	r->flow.deal = deal_some;
	for (unsigned i = 0; i < r->flow.searchers; i++) {
		of[i] = (struct one){ .run = r, .me = i };
		assert_int_equal(pthread_create(&of[i].thread, NULL, search_all, &of[i]), 0);
	}
	done = flow_deal(&r->flow, &r->stop);
	for (unsigned i = 0; i < r->flow.searchers; i++)
		pthread_join(of[i].thread, NULL);
	r->flow.deal = dealing;
	return done;
}

/* Checks the answers of all samples, without a team. */
static void check_answers(const struct run *r)
{
	const uint64_t dealt = r->stream.dealt * PACKET;
	uint64_t sum = 0, keys = 0, wanted = 0;

	for (uint64_t i = 0; i < dealt; i++)
		wanted += search_reference(&r->recipe, r->array,
					   key_get(&r->recipe, r->stream.key, i % STREAM));
	for (unsigned i = 0; i < r->flow.searchers; i++) {
		const struct searcher *s = &r->searcher[i];

		sum += s->sum;
		keys += s->keys;
		assert_true(ring_is_empty(s->ring));
		for (size_t j = 0; s->last && j < s->last_keys; j++)
			assert_int_equal(s->answers[j],
					 search_reference(&r->recipe, r->array,
							  key_get(&r->recipe, s->last, j)));
	}
	assert_int_equal(keys, dealt);
	assert_int_equal(sum, wanted);
}

struct path {
	const char *name;
	deal *deal[2];
	take *take;
};
static const struct path paths[] = {
	{ "in_turn", { deal_in_turn, deal_in_turn }, take_own },
	{ "by_range", { deal_by_range_32, deal_by_range_64 }, take_own },
	{ "stolen", { deal_by_range_32, deal_by_range_64 }, take_any },
};

static void every_key_is_answered_on(const struct path *path, unsigned cpus)
{
	static const unsigned numbers[] = { 1, 2, 3, MOST_SEARCHERS };
	/* on an emulated processor many searchers that wait for each other take seconds */
	const size_t few = LENGTH(numbers) - (getenv("LOCUS_EMULATED") ? 1 : 0);
	cpu_set_t all, one;

	assert_int_equal(sched_getaffinity(0, sizeof(all), &all), 0);
	one = all;
	for (int cpu = 0, left = (int)cpus; cpu < CPU_SETSIZE; cpu++)
		if (CPU_ISSET(cpu, &one) && left-- <= 0)
			CPU_CLR(cpu, &one);
	assert_int_equal(sched_setaffinity(0, sizeof(one), &one), 0);
	for (size_t n = 0; n < few; n++)
		for (unsigned type = 0; type < 2; type++)
			for (unsigned d = DISTRIBUTION_UNIFORM; d <= DISTRIBUTION_HOT; d++) {
				struct run *r = run_new(numbers[n], type ? 8 : 4, d,
							path->deal[type], path->take);

				/* 71 packets: the second sample goes beyond the stream's 60 */
				for (unsigned i = 0; i < 3; i++)
					assert_int_equal(sample(r, 1 + 70 * i), 1 + 70 * i);
				check_answers(r);
				run_free(r);
			}
	assert_int_equal(sched_setaffinity(0, sizeof(all), &all), 0);
}

static void every_key_is_answered(void **state)
{
	every_key_is_answered_on(*state, CPU_SETSIZE);
}

static void every_key_is_answered_on_one_cpu(void **state)
{
	every_key_is_answered_on(*state, 1);
}

/* With hot keys nearly all belong to the first owner; each other owner gets its own. */
static void owners_get_what_is_theirs(void **state)
{
	struct run *r = run_new(4, 4, DISTRIBUTION_HOT, deal_by_range_32, take_own);

	(void)state;
	sample(r, 600);
	check_answers(r);
	assert_true(r->searcher[0].keys > 0.85 * 600 * PACKET);
	for (unsigned i = 1; i < 4; i++)
		assert_true(r->searcher[i].keys > 0);
	run_free(r);
}

/* Dealt in turn, all searchers get equally many keys. */
static void turns_are_fair(void **state)
{
	struct run *r = run_new(3, 8, DISTRIBUTION_HOT, deal_in_turn, take_own);

	(void)state;
	sample(r, 300);
	for (unsigned i = 0; i < 3; i++)
		assert_int_equal(r->searcher[i].keys, 100 * PACKET);
	run_free(r);
}

/* Several threads take from a ring that one fills: each packet is taken once, and whole. */
struct crowd {
	struct ring *ring;
	_Atomic bool closed;
	uint64_t packets;
};

struct taker {
	pthread_t thread;
	struct crowd *crowd;
	uint64_t sum, packets, broken;
};

enum { CROWD_KEYS = 40, CROWD_BYTES = CROWD_KEYS * sizeof(uint64_t) };

static void *take_often(void *argument)
{
	struct taker *t = argument;
	struct packet *copy = apart(packet_bytes(CROWD_BYTES));

	for (;;) {
		const bool closed = atomic_load(&t->crowd->closed);
		const uint64_t *key = (const uint64_t *)copy->key;

		if (!ring_take_shared(t->crowd->ring, copy)) {
			if (closed)
				break;
			sched_yield();
			continue;
		}
		t->sum += key[0];
		t->packets++;
		for (unsigned i = 1; i < CROWD_KEYS; i++)
			t->broken += key[i] != key[0];
	}
	free(copy);
	return NULL;
}

static void several_take_each_packet_once(void **state)
{
	enum { TAKERS = 3, PACKETS = 20000 };
	struct crowd c = { .ring = apart(ring_bytes(CROWD_BYTES)), .packets = cases(PACKETS) };
	struct taker t[TAKERS] = { 0 };
	uint64_t sum = 0, packets = 0;
	struct packet *p;

	(void)state;
	ring_open(c.ring, CROWD_BYTES);
	for (unsigned i = 0; i < TAKERS; i++) {
		t[i].crowd = &c;
		assert_int_equal(pthread_create(&t[i].thread, NULL, take_often, &t[i]), 0);
	}
	for (uint64_t n = 1; n <= c.packets; n++) {
		for (unsigned turn = 0; !(p = ring_room(c.ring)); turn++)
			relax(turn, RING_SPINS);
		p->keys = CROWD_KEYS;
		for (unsigned i = 0; i < CROWD_KEYS; i++)
			((uint64_t *)p->key)[i] = n;
		ring_put(c.ring);
	}
	atomic_store(&c.closed, true);
	for (unsigned i = 0; i < TAKERS; i++) {
		pthread_join(t[i].thread, NULL);
		sum += t[i].sum;
		packets += t[i].packets;
		assert_int_equal(t[i].broken, 0);
	}
	assert_int_equal(packets, c.packets);
	assert_int_equal(sum, c.packets * (c.packets + 1) / 2);
	free(c.ring);
}

static void rings_and_what_is_in_them_are_apart(void **state)
{
	(void)state;
	assert_true(offsetof(struct ring, taken) - offsetof(struct ring, put) >= APART);
	assert_true(offsetof(struct ring, stride) - offsetof(struct ring, taken) >= APART);
	assert_true(offsetof(struct ring, packet) - offsetof(struct ring, stride) >= APART);
	assert_int_equal(packet_bytes(1) % APART, 0);
	assert_int_equal(ring_bytes(512) % APART, 0);
	assert_int_equal(sizeof(struct searcher) % APART, 0);
}

/* ---- best ---- */

/* In place of the tree: notes what calls get, and answers a packet with its number. */
static struct {
	uint64_t packets;
	uint32_t packet;
	const void *keys;
} noted;

static void note_call(const struct tree *tree, const void *keys, size_t count, uint32_t packet,
		      uint32_t *answers)
{
	(void)tree;
	assert_int_equal(packet, noted.packet);
	assert_int_equal(count % packet, 0);
	for (size_t i = 0; i < count; i++)
		answers[i] = (uint32_t)(noted.packets + i / packet);
	noted.packets += count / packet;
	noted.keys = (const uint32_t *)keys + count - packet;
}

/* Batches of best are packets of the stream, as those of whole: their ratio compares equal ones. */
static void best_searches_packets_of_the_stream(void **state)
{
	static const uint32_t packets[] = { 1, 33, 128, 5000, 20000 };
	enum { KEYS = 60000 };
	uint32_t *keys = apart(KEYS * sizeof(*keys));

	(void)state;
	for (size_t i = 0; i < LENGTH(packets); i++) {
		const uint32_t packet = packets[i];
		const size_t of_stream = KEYS / packet * packet, n = KEYS / packet + 1;
		uint32_t *answers = apart((size_t)packets_timed(packet) * packet * 4);
		struct searcher *s = apart(sizeof(*s));
		struct stream stream = { .key = (unsigned char *)keys,
					 .keys = of_stream,
					 .packet = packet,
					 .width = sizeof(*keys) };

		*s = (struct searcher){ .answers = answers };
		noted.packets = 0;
		noted.packet = packet;
		best_search(s, note_call, &stream, n);
		assert_int_equal(noted.packets, n);
		/* the stream has one packet less, so the last one is its first */
		assert_ptr_equal(noted.keys, keys);
		assert_ptr_equal(s->last, keys);
		assert_int_equal(s->last_keys, packet);
		assert_int_equal(s->keys, n * packet);
		assert_int_equal(s->sum, (uint64_t)packet * n * (n - 1) / 2);
		free(s);
		free(answers);
	}
	free(keys);
}

/* ---- verification ---- */

struct judged {
	struct verification verification;
	unsigned threads;
	const char *wrong;
};

static int judge(struct team *team, void *argument)
{
	struct judged *j = argument;
	const int cpu = sched_getcpu();
	const struct place place[] = { { cpu, 0 }, { cpu, 0 }, { cpu, 0 } };
	unsigned culprit;

	assert_int_equal(team_seat(team, place, j->threads, &culprit), 0);
	j->wrong = search_verify(&j->verification, team, j->threads);
	return 0;
}

static const char *verdict(const struct run *r, unsigned threads)
{
	struct judged j = { .threads = threads,
			    .verification = { .recipe = &r->recipe,
					      .array = r->array,
					      .stream = &r->stream,
					      .streams = 1,
					      .searcher = r->searcher,
					      .searchers = r->flow.searchers } };

	cpu_set_t all;

	assert_int_equal(sched_getaffinity(0, sizeof(all), &all), 0);
	assert_int_equal(team_open(threads, judge, &j), 0);
	assert_int_equal(sched_setaffinity(0, sizeof(all), &all), 0);
	return j.wrong;
}

static void mistakes_are_found(void **state)
{
	struct run *r = run_new(3, 4, DISTRIBUTION_UNIFORM, deal_by_range_32, take_own);
	uint32_t *array = r->array, was;

	(void)state;
	assert_null(verdict(r, 2));
	sample(r, 100);
	for (unsigned threads = 1; threads <= 3; threads++)
		assert_null(verdict(r, threads));
	r->searcher[1].keys--;
	assert_non_null(strstr(verdict(r, 2), "numbers of dealt and answered keys differ"));
	r->searcher[1].keys++;
	r->searcher[2].sum++;
	assert_non_null(strstr(verdict(r, 2), "sum"));
	r->searcher[2].sum--;
	r->searcher[0].answers[0] ^= 1;
	assert_non_null(strstr(verdict(r, 2), "last packet"));
	r->searcher[0].answers[0] ^= 1;
	was = array[ELEMENTS / 2];
	array[ELEMENTS / 2] = UINT32_MAX;
	assert_non_null(strstr(verdict(r, 2), "sorted"));
	array[ELEMENTS / 2] = was;
	assert_null(verdict(r, 2));
	run_free(r);
}

/*
 * Zeros at the front leave the array sorted and the answers consistent, but make searches faster:
 * verification must notice that it is not the array that was generated.
 */
static void another_array_is_noticed(void **state)
{
	struct run *r = run_new(3, 4, DISTRIBUTION_UNIFORM, deal_by_range_32, take_own);

	(void)state;
	memset(r->array, 0, ELEMENTS / 4 * sizeof(uint32_t));
	sample(r, 100);
	for (unsigned threads = 1; threads <= 3; threads++)
		assert_non_null(strstr(verdict(r, threads), "was generated"));
	run_free(r);
}

/* ---- times of packets ---- */

/* Notes packets of one key, each of which took `ticks`. */
static void take_times(struct searcher *s, unsigned packets, uint64_t ticks)
{
	for (unsigned i = 0; i < packets; i++)
		searcher_note(s, NULL, 1, 1, ticks);
}

/* Quantiles are over all packets: a searcher weighs by its number of packets. */
static void times_are_of_all_packets(void **state)
{
	uint32_t answer = 0;
	struct histogram *times = apart_alloc(4 * sizeof(*times)), *all = &times[3];
	struct searcher s[3] = { { .answers = &answer, .times = &times[0] },
				 { .answers = &answer, .times = &times[1] },
				 { .answers = &answer, .times = &times[2] } };
	const double tick[] = { 1e-9, 1e-9, 2e-9 };
	struct packet_times found = packet_times(&s[1], &tick[1], 1, all);

	(void)state;
	assert_true(isnan(found.p99) && isnan(found.deviation) && !histogram_total(all));
	take_times(&s[0], 98000, 10);
	take_times(&s[2], 2000, 50);
	searcher_note(&s[2], NULL, 1, 2, 1000); /* an incomplete packet is not counted */
	found = packet_times(s, tick, 3, all);
	assert_int_equal(histogram_total(all), 100000);
	assert_true(fabs(histogram_quantile(all, 0.5) / 10e-9 - 1) < 1. / 64);
	assert_true(fabs(found.p99 / 100e-9 - 1) < 1. / 64);
	/* in ns: 98 % at 10, 2 % at 100 */
	assert_true(fabs(found.deviation / (90e-9 * sqrt(0.98 * 0.02)) - 1) < 1e-9);
	take_times(&s[0], 200000, 10);
	assert_true(fabs(packet_times(s, tick, 3, all).p99 / 10e-9 - 1) < 1. / 64);
	/* a new sample begins without times of the last one */
	for (unsigned i = 0; i < 3; i++)
		searcher_begin(&s[i]);
	take_times(&s[1], 3, 20);
	found = packet_times(s, tick, 3, all);
	assert_int_equal(histogram_total(all), 3);
	assert_true(fabs(found.p99 / 20e-9 - 1) < 1. / 64 && found.deviation < 1e-15);
	free(times);
}

/* ---- the table ---- */

struct suite {
	size_t n;
	char name[64][96];
	struct CMUnitTest test[64];
};

static void add(struct suite *s, const char *subject, const char *what, CMUnitTestFunction function,
		const void *about)
{
	snprintf(s->name[s->n], sizeof(s->name[0]), "%s%s%s", subject, *subject ? "_" : "", what);
	s->test[s->n] = (struct CMUnitTest){ s->name[s->n], function, begin_bounded, end_bounded,
					     (void *)about };
	s->n++;
}
#define ADD(FUNCTION) add(&s, "", #FUNCTION, FUNCTION, NULL)

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
	ADD(elements_are_sorted_and_spread);
	ADD(reference_is_lower_bound);
	ADD(streams_begin_with_extremes);
	ADD(zipf_is_exact);
	ADD(zipf_is_exact_of_many);
	ADD(zipf_keys_are_elements);
	ADD(hot_keys_are_in_the_first_tenth);
	ADD(ranges_are_as_long_or_as_heavy);
	ADD(weighted_ranges_are_as_heavy);
	ADD(keys_are_grouped);
	ADD(a_ring_is_bounded);
	ADD(several_take_each_packet_once);
	ADD(rings_and_what_is_in_them_are_apart);
	for (size_t i = 0; i < LENGTH(paths); i++) {
		add(&s, paths[i].name, "every_key_is_answered", every_key_is_answered, &paths[i]);
		add(&s, paths[i].name, "every_key_is_answered_on_one_cpu",
		    every_key_is_answered_on_one_cpu, &paths[i]);
	}
	ADD(owners_get_what_is_theirs);
	ADD(turns_are_fair);
	ADD(best_searches_packets_of_the_stream);
	ADD(mistakes_are_found);
	ADD(another_array_is_noticed);
	ADD(times_are_of_all_packets);
	if (why_not)
		printf("# machine code not looked at: %s\n", why_not);
	return _cmocka_run_group_tests("search", s.test, s.n, NULL, NULL);
}
