/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tree of lines answers like lower_bound() for any size of array, duplicates, any key, and each
 * instruction set.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "solve/tree/tree.h"
#include "cases.h"
#include "kit/random.h"

#define LENGTH(list) (sizeof(list) / sizeof(*(list)))

/* A kernel under test: bytes of a key, and the instruction set. */
struct way {
	unsigned width;
	enum isa set;
};

/* Returns element i of n of a sorted array. `most`: the largest key. */
typedef uint64_t shape(size_t i, size_t n, uint64_t most);

static uint64_t apart_by_three(size_t i, size_t n, uint64_t most)
{
	(void)n, (void)most;
	return 3 * i + 5;
}

static uint64_t far_from_zero(size_t i, size_t n, uint64_t most)
{
	return most - most / 3 - 3 * (n - i);
}

static uint64_t duplicates(size_t i, size_t n, uint64_t most)
{
	(void)n, (void)most;
	return 2 * (i / 23) + 1;
}

static uint64_t one_value(size_t i, size_t n, uint64_t most)
{
	(void)i, (void)n;
	return most / 2;
}

static uint64_t extremes(size_t i, size_t n, uint64_t most)
{
	return i < n / 3 ? 0 : i < n - n / 3 ? most / 2 + i : most;
}

static uint64_t all_largest(size_t i, size_t n, uint64_t most)
{
	(void)i, (void)n;
	return most;
}

/*
 * Elements as the benchmark draws them: one at random in each of n equal ranges of keys. Those in
 * the upper half would be negative if compared as signed.
 */
static uint64_t drawn(size_t i, size_t n, uint64_t most)
{
	return most / n * i + random_mix(i + 1) % (most / n);
}

static size_t keys_of_a_line(uint64_t most)
{
	return TREE_LINE / (most == UINT32_MAX ? sizeof(uint32_t) : sizeof(uint64_t));
}

/*
 * Keys at both ends of each line's range: the last key of a line and the first of the next are
 * adjacent.
 */
static uint64_t at_both_ends(size_t i, size_t n, uint64_t most)
{
	const size_t fan = keys_of_a_line(most);
	const uint64_t range = most / (n / fan + 1), j = i % fan;

	return i / fan * range + (j < fan / 2 ? j : range - fan + j);
}

/*
 * In each group of lines below a line of narrow separators, half of the lines have keys crowded
 * near the group's beginning, where the narrow separators above cannot tell them apart.
 */
static uint64_t crowded(size_t i, size_t n, uint64_t most)
{
	enum { LINES = 32, PLACES = 1 << 13 };
	const size_t fan = keys_of_a_line(most), line = i / fan % LINES, j = i % fan;
	const uint64_t range = most / (n / (LINES * fan) + 1),
		       step = line < LINES / 2 ? range / PLACES : range / LINES;

	return i / (LINES * fan) * range + line * step + j * (step / fan);
}

static shape *const shapes[] = {
	apart_by_three, far_from_zero, duplicates,   one_value, extremes,
	all_largest,	drawn,	       at_both_ends, crowded,
};

/* An array with its tree, and canaries after the tree's memory. */
struct scene {
	struct way way;
	size_t n;
	void *sorted;
	unsigned char *memory;
	struct tree tree;
	tree_search *search;
};

enum {
	CANARY = 0xa5,
	CANARIES = TREE_LINE,
	PACKET = 128,
	CACHED = 8 << 20, /* bytes of an array beyond which batches overlap */
};

static uint64_t largest(unsigned width)
{
	return width == sizeof(uint32_t) ? UINT32_MAX : UINT64_MAX;
}

static uint64_t get(const void *keys, size_t i, unsigned width)
{
	return width == sizeof(uint32_t) ? ((const uint32_t *)keys)[i]
					 : ((const uint64_t *)keys)[i];
}

static void put(void *keys, size_t i, uint64_t key, unsigned width)
{
	if (width == sizeof(uint32_t))
		((uint32_t *)keys)[i] = (uint32_t)key;
	else
		((uint64_t *)keys)[i] = key;
}

static void open_scene(struct scene *s, struct way way, size_t n, shape *of)
{
	const size_t padded = tree_padded(n, way.width), bytes = tree_bytes(n, way.width);
	const uint64_t most = largest(way.width);

	*s = (struct scene){ .way = way, .n = n };
	s->sorted = aligned_alloc(TREE_LINE, padded * way.width);
	s->memory = aligned_alloc(TREE_LINE, bytes + CANARIES);
	assert_true(s->sorted && s->memory);
	memset(s->memory, CANARY, bytes + CANARIES);
	for (size_t i = 0; i < padded; i++)
		put(s->sorted, i, i < n ? of(i, n, most) : most, way.width);
	tree_build(&s->tree, s->sorted, n, way.width, s->memory);
	for (size_t i = 0; i < CANARIES; i++)
		assert_int_equal(s->memory[bytes + i], CANARY);
	s->search = tree_searcher(way.width, way.set);
	assert_non_null(s->search);
}

static void close_scene(struct scene *s)
{
	free(s->sorted);
	free(s->memory);
}

static size_t lower_bound(const struct scene *s, uint64_t key)
{
	size_t from = 0;

	for (size_t n = s->n; n > 0;) {
		const size_t half = n / 2;

		if (get(s->sorted, from + half, s->way.width) < key) {
			from += half + 1;
			n -= half + 1;
		} else {
			n = half;
		}
	}
	return from;
}

/*
 * Answers are not aligned to lines, and keys and answers end where their memory ends, so that
 * sanitizers report accesses beyond it.
 */
static void search_and_compare(const struct scene *s, const void *keys, size_t count,
			       uint32_t packet)
{
	uint32_t *answers = malloc((count + 1) * sizeof(*answers));

	assert_non_null(answers);
	answers[0] = CANARY;
	s->search(&s->tree, keys, count, packet, answers + 1);
	assert_int_equal(answers[0], CANARY);
	for (size_t i = 0; i < count; i++) {
		const uint64_t key = get(keys, i, s->way.width);

		if (answers[i + 1] != lower_bound(s, key))
			fail_msg("%zu elements, packets of %u, key %zu of %zu, %#llx: %u instead "
				 "of %zu",
				 s->n, packet, i, count, (unsigned long long)key, answers[i + 1],
				 lower_bound(s, key));
	}
	free(answers);
}

/*
 * Looks up some elements with their neighbours, then extremes, then random keys, any or from the
 * array.
 */
static void ask(const struct scene *s, size_t elements, size_t random)
{
	const size_t count = 3 * elements + 4 + 2 * random;
	const uint64_t most = largest(s->way.width);
	void *keys = malloc(count * s->way.width);
	size_t to = 0;

	assert_non_null(keys);
	for (size_t i = 0; i < elements; i++) {
		const uint64_t key = get(
			s->sorted, elements < s->n ? random_permute(i, s->n, 7) : i, s->way.width);

		put(keys, to++, key - 1, s->way.width);
		put(keys, to++, key, s->way.width);
		put(keys, to++, key + 1, s->way.width);
	}
	put(keys, to++, 0, s->way.width);
	put(keys, to++, most, s->way.width);
	put(keys, to++, most - 1, s->way.width);
	put(keys, to++, most / 2 + 1, s->way.width);
	for (size_t i = 0; i < random; i++) {
		put(keys, to++, random_mix(i + 1), s->way.width);
		put(keys, to++, s->n ? get(s->sorted, random_mix(~i) % s->n, s->way.width) : i,
		    s->way.width);
	}
	assert_int_equal(to, count);
	search_and_compare(s, keys, count, PACKET);
	free(keys);
}

static void every_small_array(void **state)
{
	const struct way *w = *state;

	for (size_t n = 0; n < cases(601); n++)
		for (unsigned i = 0; i < LENGTH(shapes); i++) {
			struct scene s;

			open_scene(&s, *w, n, shapes[i]);
			ask(&s, n, 20);
			close_scene(&s);
		}
}

/* Sizes that fill a line, a layer or the top exactly, one less, and one more; then random sizes. */
static void arrays_that_just_fill_a_layer(void **state)
{
	const struct way *w = *state;
	const size_t fan = TREE_LINE / w->width, most = cases(1200000);

	for (size_t full = fan; full <= most; full *= fan)
		for (size_t times = 1; times < fan && times * full <= most;
		     times = 3 * times + (times > 1))
			for (size_t n = times * full - 1; n <= times * full + 1; n++) {
				struct scene s;

				open_scene(&s, *w, n, shapes[(n + times) % LENGTH(shapes)]);
				ask(&s, n < 3000 ? n : 3000, 1000);
				close_scene(&s);
			}
	for (size_t i = 0; i < cases(100); i++) {
		struct scene s;

		open_scene(&s, *w, random_mix(i + 1) % most >> i % 12, drawn);
		ask(&s, s.n < 100 ? s.n : 100, 300);
		close_scene(&s);
	}
}

/* Sizes beyond which batches overlap: just filled, one less and one more, and larger ones. */
static void arrays_beyond_the_caches(void **state)
{
	const struct way *w = *state;
	const size_t full = CACHED / w->width;
	const size_t sizes[] = { full - 1, full, full + 1, full + full / 8 + 5, 2 * full + 1 };

	for (size_t i = 0; i < LENGTH(sizes); i++) {
		struct scene s;

		open_scene(&s, *w, sizes[i], shapes[(i + 1) % LENGTH(shapes)]);
		assert_int_equal(s.tree.overlap, sizes[i] > full);
		ask(&s, 3000, 1000);
		close_scene(&s);
	}
}

/* In large arrays, separators are narrow if they can tell the lines apart. */
static void narrow_separators(void **state)
{
	static const struct {
		shape *of;
		bool narrow;
	} rows[] = {
		{ drawn, true },	  { at_both_ends, true },  { crowded, true },
		{ apart_by_three, true }, { far_from_zero, true }, { duplicates, false },
		{ one_value, false },	  { extremes, false },	   { all_largest, false },
	};
	const struct way *w = *state;
	/*
	 * Bytes of arrays whose separators as whole keys would take 64 KiB, and just more. In slow
	 * lanes only arrays_beyond_the_caches() has arrays beyond the caches.
	 */
	const size_t least = (size_t)(TREE_LINE / w->width) << 16;
	const size_t sizes[] = { least, least + 1, least + 12345, CACHED + CACHED / 3 };

	for (size_t i = 0; i < LENGTH(rows); i++)
		for (size_t j = 0; j < LENGTH(sizes) - (cases(4) < 4); j++) {
			struct scene s;

			open_scene(&s, *w, (sizes[j] + w->width - 1) / w->width, rows[i].of);
			assert_int_equal(s.tree.narrow, rows[i].narrow && j);
			assert_in_range(s.tree.bytes, 1, tree_bytes(s.n, w->width));
			ask(&s, 3000, 1000);
			close_scene(&s);
		}
}

/* Nothing is read beyond the keys, nor written beyond the answers. */
static void any_count_in(const struct way *w, size_t n)
{
	struct scene s;

	open_scene(&s, *w, n, drawn);
	for (size_t count = 0; count <= 300; count++) {
		const uint32_t packet = count % 3 ? PACKET : 1 + (uint32_t)count % 150;
		unsigned char *keys = malloc(count * w->width + 1),
			      *answers = malloc(count * sizeof(uint32_t) + CANARIES);

		assert_true(keys && answers);
		memset(answers, CANARY, count * sizeof(uint32_t) + CANARIES);
		for (size_t i = 0; i < count; i++)
			put(keys, i, random_mix(count * 300 + i), w->width);
		s.search(&s.tree, keys, count, packet, (uint32_t *)answers);
		for (size_t i = 0; i < count; i++)
			assert_int_equal(((uint32_t *)answers)[i],
					 lower_bound(&s, get(keys, i, w->width)));
		for (size_t i = 0; i < CANARIES; i++)
			assert_int_equal(answers[count * sizeof(uint32_t) + i], CANARY);
		search_and_compare(&s, keys, count, packet);
		free(keys);
		free(answers);
	}
	close_scene(&s);
}

static void any_count_of_keys(void **state)
{
	any_count_in(*state, 5000);
	any_count_in(*state, CACHED / ((const struct way *)*state)->width + 1);
}

static void not_on_this_machine(void **state)
{
	const struct way *w = *state;

	print_message("this CPU has no %s\n", isa_name(w->set));
	skip();
}

static void a_tree_is_a_line_for_each_line_of_lines(void **state)
{
	(void)state;
	assert_int_equal(tree_padded(0, 4), 16);
	assert_int_equal(tree_padded(16, 4), 16);
	assert_int_equal(tree_padded(17, 4), 32);
	assert_int_equal(tree_padded(17, 8), 24);
	assert_int_equal(tree_padded(UINT32_MAX, 4), UINT64_C(1) << 32);
	/* the top takes 16 lines, with any array */
	assert_int_equal(tree_bytes(16, 4), 16 * TREE_LINE);
	assert_int_equal(tree_bytes(17, 4), 17 * TREE_LINE);
	assert_int_equal(tree_bytes(65536, 4), (16 + 256 + 16 + 1) * TREE_LINE);
	assert_int_equal(tree_bytes(65537, 4), (16 + 257 + 17 + 2 + 1) * TREE_LINE);
	assert_int_equal(tree_bytes(512, 8), (16 + 8 + 1) * TREE_LINE);
	assert_true(tree_bytes(UINT32_MAX, 8) > (UINT64_C(1) << 32) / 7 * 8);
}

struct suite {
	size_t n;
	char name[32][64];
	struct CMUnitTest test[32];
};

static void add(struct suite *s, const struct way *w, const char *what, CMUnitTestFunction function)
{
	snprintf(s->name[s->n], sizeof(s->name[0]), "%s_u%u_%s", isa_name(w->set), 8 * w->width,
		 what);
	s->test[s->n] = (struct CMUnitTest){ s->name[s->n],
					     isa_usable(w->set) ? function : not_on_this_machine,
					     NULL, NULL, (void *)w };
	s->n++;
}

int main(void)
{
	static struct way ways[2 * ISAS];
	static struct suite s = {
		.n = 1,
		.test = { cmocka_unit_test(a_tree_is_a_line_for_each_line_of_lines) },
	};

	for (unsigned i = 0; i < LENGTH(ways); i++) {
		ways[i] = (struct way){ i % 2 ? 8 : 4, i / 2 };
		if (!tree_searcher(ways[i].width, ways[i].set))
			continue;
		add(&s, &ways[i], "every_small_array", every_small_array);
		add(&s, &ways[i], "arrays_that_just_fill_a_layer", arrays_that_just_fill_a_layer);
		add(&s, &ways[i], "arrays_beyond_the_caches", arrays_beyond_the_caches);
		add(&s, &ways[i], "narrow_separators", narrow_separators);
		add(&s, &ways[i], "any_count_of_keys", any_count_of_keys);
	}
	return _cmocka_run_group_tests("tree", s.test, s.n, NULL, NULL);
}
