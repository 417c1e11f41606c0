/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every kind of map against a sequential model: random histories, growth, colliding keys, values of
 * several words, exhausted memory; then with several threads, each with its own keys.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <pthread.h>
#include <cmocka.h>

#include "cases.h"
#include "maps.h"

enum { KEYS = 300 };
/* All kinds of keys: the least, the largest, and values that a table may reserve for itself. */
static uint64_t key_of(unsigned i)
{
	static const uint64_t special[] = { 0,
					    UINT64_MAX,
					    1,
					    UINT64_MAX - 1,
					    UINT64_C(1) << 63,
					    UINT32_MAX,
					    (uint64_t)UINT32_MAX + 1 };

	return i < sizeof(special) / sizeof(*special) ? special[i] : random_mix(i);
}

/* What the map should hold: the first word of each key's value. */
struct model {
	bool there[KEYS];
	uint64_t value[KEYS];
	uint64_t (*key)(unsigned);
};

static void value_of(uint64_t first, uint64_t *value)
{
	for (unsigned i = 0; i < MAP_MOST_WORDS; i++)
		value[i] = first + i * RANDOM_GOLDEN;
}

static bool same_value(const uint64_t *a, uint64_t first, unsigned words)
{
	uint64_t b[MAP_MOST_WORDS];

	value_of(first, b);
	return !memcmp(a, b, words * sizeof(*a));
}

static void one_operation(struct map_world *w, unsigned thread, struct model *m, unsigned k,
			  unsigned what, uint64_t first)
{
	struct worker *self = &w->worker[thread];
	const uint64_t key = m->key(k);
	const enum map_answer expected = m->there[k] ? MAP_PRESENT : MAP_ABSENT;
	uint64_t value[MAP_MOST_WORDS];

	value_of(first, value);
	switch (what) {
	case 0:
		assert_int_equal(w->kind->insert(w->map, self, key, value), expected);
		m->value[k] = m->there[k] ? m->value[k] : first;
		m->there[k] = true;
		break;
	case 1:
		assert_int_equal(w->kind->upsert(w->map, self, key, value), expected);
		m->value[k] = first;
		m->there[k] = true;
		break;
	case 2:
		assert_int_equal(w->kind->remove(w->map, self, key), expected);
		m->there[k] = false;
		break;
	default:
		assert_int_equal(w->kind->find(w->map, self, key, value), expected);
		if (m->there[k])
			assert_true(same_value(value, m->value[k], w->shape.words));
	}
}

struct seen {
	const struct model *m;
	unsigned words, count[KEYS];
};

static void see(void *argument, uint64_t key, const uint64_t *value)
{
	struct seen *s = argument;
	unsigned k = 0;

	while (k < KEYS && s->m->key(k) != key)
		k++;
	assert_true(k < KEYS && s->m->there[k]);
	assert_true(same_value(value, s->m->value[k], s->words));
	s->count[k]++;
}

/* The map has the keys of the model, each once, with its value. */
static void assert_as_model(struct map_world *w, const struct model *m)
{
	struct seen s = { .m = m, .words = w->shape.words };
	uint64_t there = 0;

	maps_call(w->kind->begin, w, 0);
	w->kind->each(w->map, &w->worker[0], see, &s);
	maps_call(w->kind->end, w, 0);
	for (unsigned k = 0; k < KEYS; k++) {
		assert_int_equal(s.count[k], m->there[k]);
		there += m->there[k];
	}
	assert_int_equal(w->kind->size(w->map), there);
}

/* All in one bucket, however many there are. */
static uint64_t colliding(unsigned i)
{
	return maps_key_of((uint64_t)i << 40);
}

static void random_history(const struct map_row *row, const struct map_shape *shape,
			   uint64_t (*key)(unsigned), uint64_t seed)
{
	struct map_world w = maps_open(row->kind, shape, 0);
	struct model m = { .key = key };
	const unsigned keys = seed % 2 ? KEYS : KEYS / 20, n = 5000;

	assert_non_null(w.map);
	maps_call(w.kind->begin, &w, 0);
	for (unsigned i = 0; i < n; i++) {
		const uint64_t random = random_word(seed, i);

		one_operation(&w, 0, &m, (unsigned)(random >> 8) % keys, random % 4, random);
		if (i % MAP_BLOCK == 0)
			maps_call(w.kind->rest, &w, 0);
	}
	maps_call(w.kind->end, &w, 0);
	assert_null(w.worker[0].failed);
	if (w.kind->bytes)
		assert_true(w.kind->bytes(w.map) >= w.kind->size(w.map) * sizeof(uint64_t));
	assert_as_model(&w, &m);
	maps_close(&w);
}

static void test_random_histories(void **state)
{
	(void)state;
	for (const struct map_row *row = maps_next(NULL); row; row = maps_next(row))
		for (unsigned seed = 0; seed < cases(20); seed++) {
			struct map_shape shape = maps_small;

			shape.words = seed % 3 ? 1 : 1 + seed % row->words;
			shape.stripes = shape.buckets = seed % 4 ? 4 : 32;
			random_history(row, &shape, key_of, seed);
			random_history(row, &shape, colliding, seed);
		}
}

/* The hash is a bijection, and maps_key_of() its inverse. */
static void test_hash(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 1000; i++)
		assert_int_equal(map_hash(maps_key_of(random_mix(i))), random_mix(i));
}

/* Nothing is lost when memory is used up; keys can still be removed, which frees memory. */
static void run_out(const struct map_row *row)
{
	struct map_world w = maps_open(row->kind, &maps_small, 4096);
	struct model m = { .key = key_of };
	enum map_answer answer = MAP_ABSENT;
	unsigned n = 0, left = 0;

	maps_call(w.kind->begin, &w, 0);
	for (; n < KEYS && answer == MAP_ABSENT; n += answer == MAP_ABSENT) {
		uint64_t value[MAP_MOST_WORDS];

		value_of(n, value);
		answer = w.kind->insert(w.map, &w.worker[0], key_of(n), value);
		m.there[n] = answer == MAP_ABSENT;
		m.value[n] = n;
	}
	assert_int_equal(answer, MAP_NO_MEMORY);
	assert_non_null(strstr(w.worker[0].failed, "the entries"));
	for (unsigned k = 0; k < n; k++)
		one_operation(&w, 0, &m, k, 3, 0);
	for (unsigned k = 0; k < n; k++) {
		/* removing may need memory, too */
		answer = w.kind->remove(w.map, &w.worker[0], key_of(k));
		assert_true(answer == MAP_PRESENT || answer == MAP_NO_MEMORY);
		m.there[k] = answer == MAP_NO_MEMORY;
		left += m.there[k];
		maps_call(w.kind->rest, &w, 0);
	}
	assert_true(left < n);
	for (unsigned k = 0; k < 6; k++)
		maps_call(w.kind->rest, &w, 0);
	one_operation(&w, 0, &m, 0, 0, 77);
	maps_call(w.kind->end, &w, 0);
	assert_as_model(&w, &m);
	maps_close(&w);
}

static void test_out_of_memory(void **state)
{
	(void)state;
	for (const struct map_row *row = maps_next(NULL); row; row = maps_next(row))
		if (!row->no_entries)
			run_out(row);
}

/* Threads with their own keys: each knows what it must find, and the table grows meanwhile. */
struct user {
	struct map_world *w;
	unsigned thread, threads, n;
	bool wrong;
};
enum { OWN_KEYS = 2000 };

static uint64_t own_key(const struct user *u, unsigned k)
{
	return (uint64_t)k * u->threads + u->thread;
}

static bool use_one(const struct user *u, unsigned i, bool *there, uint64_t *first)
{
	struct map_world *w = u->w;
	struct worker *self = &w->worker[u->thread];
	const uint64_t random = random_word(u->thread, i);
	const unsigned k = (unsigned)(random >> 8) % (OWN_KEYS / 10 + OWN_KEYS * i / u->n / 2);
	const enum map_answer expected = there[k] ? MAP_PRESENT : MAP_ABSENT;
	uint64_t value[MAP_MOST_WORDS];

	value_of(random, value);
	if (random % 8 == 0) {
		there[k] = false;
		return w->kind->remove(w->map, self, own_key(u, k)) == expected;
	}
	if (random % 8 < 4) {
		there[k] = true;
		first[k] = random;
		return w->kind->upsert(w->map, self, own_key(u, k), value) == expected;
	}
	return w->kind->find(w->map, self, own_key(u, k), value) == expected &&
	       (!there[k] || same_value(value, first[k], w->shape.words));
}

static void *use(void *argument)
{
	struct user *u = argument;
	static _Thread_local bool there[OWN_KEYS];
	static _Thread_local uint64_t first[OWN_KEYS];

	maps_call(u->w->kind->begin, u->w, u->thread);
	for (unsigned i = 0; i < u->n && !u->wrong; i++) {
		u->wrong = !use_one(u, i, there, first);
		if (i % MAP_BLOCK == 0)
			maps_call(u->w->kind->rest, u->w, u->thread);
	}
	maps_call(u->w->kind->end, u->w, u->thread);
	return NULL;
}

/* Usually more threads than this machine has CPUs. */
static void test_threads(void **state)
{
	enum { THREADS = MAPS_MOST_THREADS };

	(void)state;
	for (const struct map_row *row = maps_next(NULL); row; row = maps_next(row)) {
		struct map_shape shape = maps_small;
		struct user user[THREADS];
		struct map_world w;
		pthread_t thread[THREADS];

		shape.threads = THREADS;
		shape.keys = shape.share = (uint64_t)THREADS * OWN_KEYS;
		shape.words = row->words < 3 ? row->words : 3;
		w = maps_open(row->kind, &shape, 0);
		for (unsigned t = 0; t < THREADS; t++) {
			user[t] = (struct user){ &w, t, THREADS, cases(40000), false };
			assert_int_equal(pthread_create(&thread[t], NULL, use, &user[t]), 0);
		}
		for (unsigned t = 0; t < THREADS; t++)
			pthread_join(thread[t], NULL);
		for (unsigned t = 0; t < THREADS; t++) {
			assert_false(user[t].wrong);
			assert_null(w.worker[t].failed);
		}
		maps_close(&w);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_hash),
		cmocka_unit_test(test_random_histories),
		cmocka_unit_test(test_out_of_memory),
		cmocka_unit_test(test_threads),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
