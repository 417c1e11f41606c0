/* SPDX-License-Identifier: Apache-2.0 */
/*
 * best as a kind of map: all of its tables lie in the map's block, however it grows there, and its
 * waits and moves are counted.
 */
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "solve/map/tables.h"
#include "bench/hashmap/map.h"
#include "cases.h"
#include "maps.h"

static struct map_world open_world(uint64_t keys, size_t buckets, unsigned threads)
{
	struct map_shape shape = maps_small;

	shape.keys = keys;
	shape.buckets = buckets;
	shape.threads = threads;
	return maps_open(&fast_map, &shape, 0);
}

static enum map_answer put(struct map_world *w, uint64_t key)
{
	return w->kind->insert(w->map, &w->worker[0], key, &key);
}

static bool is_there(struct map_world *w, uint64_t key)
{
	uint64_t value;

	return w->kind->find(w->map, &w->worker[0], key, &value) == MAP_PRESENT && value == key;
}

/* How many words of the block are equal to `word`. */
static unsigned count_in_block(const struct map_world *w, uint64_t word)
{
	const uint64_t *block = w->memory.shared;
	unsigned n = 0;

	for (size_t i = 0; i < w->kind->shared(&w->shape) / sizeof(*block); i++)
		n += block[i] == word;
	return n;
}

/* From any capacity to any number of keys, again and again on the same memory. */
static void test_tables_lie_in_the_block(void **state)
{
	enum { KEY = 0x5eed5eed };

	(void)state;
	for (uint64_t keys = 1; keys <= 30000; keys = keys * 5 + 7)
		for (size_t buckets = 4; buckets <= 1 << 16; buckets *= 16) {
			struct map_world w = open_world(keys, buckets, 1);

			for (unsigned map = 0; map < cases(3); map++) {
				maps_call(w.kind->begin, &w, 0);
				for (uint64_t i = 0; i < keys; i++)
					assert_int_equal(put(&w, KEY + i), MAP_ABSENT);
				for (uint64_t i = 0; i < keys; i++)
					assert_true(is_there(&w, KEY + i));
				/* key and value, and stale copies in earlier tables */
				assert_true(count_in_block(&w, KEY) >= 2);
				assert_true(w.kind->bytes(w.map) <= w.kind->shared(&w.shape));
				maps_call(w.kind->end, &w, 0);
				w.kind->destroy(w.map);
				w.map = w.kind->create(&w.shape, &w.memory);
				assert_non_null(w.map);
				assert_int_equal(w.kind->size(w.map), 0);
				assert_int_equal(count_in_block(&w, KEY), 0);
			}
			maps_close(&w);
		}
}

/* More keys than were planned: some are refused, with the reason, and the map is unchanged. */
static void test_the_block_is_used_up(void **state)
{
	struct map_world w = open_world(10, 4, 1);
	uint64_t n = 0, refused;

	(void)state;
	maps_call(w.kind->begin, &w, 0);
	while (put(&w, n) == MAP_ABSENT)
		n++;
	refused = n;
	assert_non_null(w.worker[0].failed);
	assert_false(is_there(&w, refused));
	for (uint64_t i = 0; i < n; i++)
		assert_true(is_there(&w, i));
	assert_int_equal(w.kind->size(w.map), n);
	for (uint64_t i = 0; i < n; i++)
		assert_int_equal(w.kind->remove(w.map, &w.worker[0], i), MAP_PRESENT);
	assert_int_equal(put(&w, refused), MAP_ABSENT);
	maps_call(w.kind->end, &w, 0);
	assert_int_equal(w.kind->size(w.map), 1);
	maps_close(&w);
}

/* Freed pieces may be larger or smaller than the next request; reused memory is zero. */
static void test_what_was_given_back_is_taken_again(void **state)
{
	enum { SMALL = 1 << 16 };
	struct map_shape shape = maps_small;
	size_t bytes, n = 0;
	void *shared, *first, *second;
	struct cmap_memory memory;

	(void)state;
	shape.keys = 5000;
	bytes = fast_map.shared(&shape);
	shared = apart_alloc(bytes);
	memory = fast_memory_open(&shape, shared);
	first = memory.take(memory.from, SMALL);
	second = memory.take(memory.from, 2 * SMALL);
	memset(second, 1, 2 * SMALL);
	while (memory.take(memory.from, SMALL))
		n++;
	assert_true(n > 0);
	memory.give(memory.from, first, SMALL);
	memory.give(memory.from, second, 2 * SMALL);
	assert_null(memory.take(memory.from, 3 * SMALL));
	for (unsigned i = 0; i < 3; i++) {
		const unsigned char *again = memory.take(memory.from, SMALL);

		assert_non_null(again);
		for (size_t k = 0; k < SMALL; k++)
			assert_int_equal(again[k], 0);
	}
	assert_null(memory.take(memory.from, SMALL));
	free(shared);
}

/*
 * Each doubling of the table is counted once, whichever thread moves it; a map of constant size
 * moves nothing.
 */
static void test_growth_is_counted(void **state)
{
	struct map_world w = open_world(3000, 4, 1);
	const struct map_costs *costs = w.memory.costs;

	(void)state;
	maps_call(w.kind->begin, &w, 0);
	for (uint64_t i = 0; i < 64; i++)
		put(&w, i);
	maps_call(w.kind->end, &w, 0);
	assert_int_equal(costs->growths, 0);
	assert_int_equal(costs->grown, 0);
	maps_call(w.kind->begin, &w, 0);
	for (uint64_t i = 64; i < 3000; i++)
		put(&w, i);
	maps_call(w.kind->end, &w, 0);
	/* 64 homes with three keys each, then 128, 256, 512 and 1024 */
	assert_int_equal(costs->growths, 4);
	assert_true(costs->grown > 0);
	assert_int_equal(costs->waited, 0);
	maps_close(&w);
}

static void *unlock_later(void *bucket)
{
	enum { TICKS = 100000 };
	const uint64_t began = clock_ticks();

	while (clock_ticks() - began < TICKS)
		sched_yield();
	bucket_unlock(bucket, bucket_load(&((struct bucket *)bucket)->word));
	return NULL;
}

/*
 * A writer that meets a locked bucket counts its wait; if it comes after the unlock, it counts once
 * more.
 */
static void test_waiting_is_counted(void **state)
{
	struct map_world w = open_world(3000, 4, 1);
	const struct map_costs *costs = w.memory.costs;
	/* in the block, the homes of the first table come first */
	struct bucket *b = (struct bucket *)((char *)w.memory.shared + APART);

	(void)state;
	maps_call(w.kind->begin, &w, 0);
	assert_int_equal(put(&w, 1), MAP_ABSENT);
	while (!(bucket_load(&b->word) & BUCKET_USED))
		b++;
	for (unsigned turn = 0; turn < 1000 && !costs->waited; turn++) {
		pthread_t thread;

		atomic_fetch_or(&b->word, BUCKET_LOCK);
		assert_int_equal(pthread_create(&thread, NULL, unlock_later, b), 0);
		assert_int_equal(put(&w, 1), MAP_PRESENT);
		pthread_join(thread, NULL);
		maps_call(w.kind->end, &w, 0);
		maps_call(w.kind->begin, &w, 0);
	}
	maps_call(w.kind->end, &w, 0);
	assert_true(costs->waited > 0);
	maps_close(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_tables_lie_in_the_block),
		cmocka_unit_test(test_the_block_is_used_up),
		cmocka_unit_test(test_what_was_given_back_is_taken_again),
		cmocka_unit_test(test_growth_is_counted),
		cmocka_unit_test(test_waiting_is_counted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
