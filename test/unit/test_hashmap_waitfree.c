/* SPDX-License-Identifier: Apache-2.0 */
/* striped-waitfree when memory is short: a table that cannot grow, a reader that is held. */
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "bench/hashmap/striped.h"
#include "held.h"
#include "maps.h"

enum { ENTRY = sizeof(struct waitfree_entry) + sizeof(uint64_t) };

static enum map_answer put(struct map_world *w, uint64_t hash, uint64_t value)
{
	return w->kind->upsert(w->map, &w->worker[0], maps_key_of(hash), &value);
}

static void take(struct map_world *w, uint64_t hash)
{
	assert_int_equal(w->kind->remove(w->map, &w->worker[0], maps_key_of(hash)), MAP_PRESENT);
}

/*
 * Four stripes. COLLIDING keys of one stripe are all in one bucket, and cause a doubling. At 64
 * buckets the OTHERS leave too little memory for the copies that doubling needs. When the OTHERS
 * are removed, doubling is tried again.
 */
static void test_growth_is_tried_again(void **state)
{
	enum { OTHERS = 33, COLLIDING = 17, ROOM = 60 };
	struct map_world w = maps_open(&waitfree_map, &maps_small, ROOM * ENTRY);

	(void)state;
	maps_call(w.kind->begin, &w, 0);
	for (uint64_t i = 0; i < OTHERS; i++)
		assert_int_equal(put(&w, i / 3 * 4 + i % 3 + 1, i), MAP_ABSENT);
	for (uint64_t i = 0; i < COLLIDING; i++) {
		assert_int_equal(put(&w, i << 6, i), MAP_ABSENT);
		maps_call(w.kind->rest, &w, 0);
	}
	assert_int_equal(((struct waitfree *)w.map)->now->buckets, 64);
	assert_int_equal(w.memory.costs->growths, 4);
	for (uint64_t i = 0; i < OTHERS; i++)
		take(&w, i / 3 * 4 + i % 3 + 1);
	for (uint64_t i = 0; i < 1000; i++) {
		assert_int_equal(put(&w, 4, i), MAP_ABSENT);
		take(&w, 4);
		maps_call(w.kind->rest, &w, 0);
	}
	assert_true(w.memory.costs->growths > 4);
	maps_call(w.kind->end, &w, 0);
	assert_int_equal(w.kind->size(w.map), COLLIDING);
	maps_close(&w);
}

enum { KEYS = 20, ENTRIES = 1000 };
struct reader {
	struct map_world *w;
	_Atomic unsigned wrong;
	_Atomic bool looks, end;
};

/* A value is its key's number plus any multiple of KEYS. */
static void *look(void *argument)
{
	struct reader *r = argument;
	struct map_world *w = r->w;

	maps_call(w->kind->begin, w, 1);
	for (uint64_t i = 0; !atomic_load(&r->end); i++) {
		uint64_t value = 0;

		if (w->kind->find(w->map, &w->worker[1], maps_key_of(i % KEYS), &value) !=
			    MAP_PRESENT ||
		    value % KEYS != i % KEYS)
			atomic_fetch_add(&r->wrong, 1);
		if (i % MAP_BLOCK == 0)
			maps_call(w->kind->rest, w, 1);
		atomic_store(&r->looks, true);
	}
	maps_call(w->kind->end, w, 1);
	return NULL;
}

/* Does so many updates, or fewer if memory runs out. Returns how many it did. */
static uint64_t update(struct map_world *w, uint64_t updates)
{
	for (uint64_t i = 0; i < updates; i++) {
		if (put(w, i % KEYS, i / KEYS * KEYS + i % KEYS) == MAP_NO_MEMORY)
			return i;
		maps_call(w->kind->rest, w, 0);
	}
	return updates;
}

/*
 * Replaced entries are kept for a reader that is held. So a writer continues until memory runs out,
 * then reports that; and continues when the reader does.
 */
static void test_held_reader(void **state)
{
	struct map_shape shape = maps_small;
	struct map_world w;
	struct reader r = { .w = &w };
	pthread_t reader;

	(void)state;
	shape.threads = 2;
	shape.keys = shape.share = KEYS;
	w = maps_open(&waitfree_map, &shape, ENTRIES * ENTRY);
	held_open();
	maps_call(w.kind->begin, &w, 0);
	for (uint64_t i = 0; i < KEYS; i++)
		assert_int_equal(put(&w, i, i), MAP_ABSENT);
	assert_false(pthread_create(&reader, NULL, look, &r));
	while (!atomic_load(&r.looks))
		sched_yield();
	for (unsigned turn = 0; turn < 3; turn++) {
		uint64_t done;

		held_begin(reader);
		done = update(&w, (uint64_t)10 * ENTRIES);
		assert_true(done <= ENTRIES);
		assert_non_null(strstr(w.worker[0].failed, "the entries"));
		held_end();
		for (uint64_t more = 0; more < 2 * ENTRIES; more += done) {
			done = update(&w, 1);
			if (!done)
				sched_yield();
		}
		assert_int_equal(r.wrong, 0);
	}
	atomic_store(&r.end, true);
	pthread_join(reader, NULL);
	assert_int_equal(r.wrong, 0);
	assert_int_equal(update(&w, (uint64_t)10 * ENTRIES), 10 * ENTRIES);
	maps_call(w.kind->end, &w, 0);
	assert_int_equal(w.kind->size(w.map), KEYS);
	maps_close(&w);
	held_close();
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_growth_is_tried_again),
		cmocka_unit_test(test_held_reader),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
