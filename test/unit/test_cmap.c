/* SPDX-License-Identifier: Apache-2.0 */
/* The concurrent map in one thread: random histories beside a model, colliding keys, no memory. */
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <cmocka.h>

#include "counted_memory.h"
#include "cases.h"
#include "solve/map/bucket.h"
#include "solve/map/tables.h"
#include "kit/random.h"

enum { MOST = 4096 };

/* What the map should hold: keys by number. */
struct model {
	uint64_t key[MOST], value[MOST];
	bool there[MOST];
	size_t keys, size;
};

/* Every key is allowed, even zero and all ones. */
static void choose_keys(struct model *m, size_t n)
{
	*m = (struct model){ .keys = n };
	for (size_t i = 0; i < n; i++)
		m->key[i] = i < n / 2 ? i : ~(uint64_t)(i - n / 2);
}

/*
 * Keys whose hashes agree in the highest 10 bits: they have the same home in a table of up to 1024
 * homes.
 */
static void choose_colliding(struct model *m, size_t n, uint64_t seed)
{
	const struct table_seed s = table_seed_of(seed);
	size_t found = 0;

	*m = (struct model){ .keys = n };
	for (uint64_t key = 0; found < n; key++)
		if (table_hash(s, key) >> 54 == 7)
			m->key[found++] = key;
}

static struct cmap_operation draw(const struct model *m, uint64_t random, unsigned adds)
{
	const size_t i = random % m->keys;
	const unsigned what = random >> 40 & 15;

	return (struct cmap_operation){
		.key = m->key[i],
		.value = random,
		.kind = what < 4	  ? CMAP_FIND
			: what < 4 + adds ? (what & 1 ? CMAP_INSERT : CMAP_UPSERT)
					  : CMAP_REMOVE,
		.result = INT_MIN,
	};
}

/* The expected result and value of the operation, from the model. `i`: which key. */
static void expect(struct model *m, size_t i, struct cmap_operation *o)
{
	const bool there = m->there[i];

	o->result = o->kind == CMAP_FIND || o->kind == CMAP_REMOVE ? there : !there;
	if ((o->kind == CMAP_FIND || o->kind == CMAP_REMOVE) && there)
		o->value = m->value[i];
	if (o->kind == CMAP_UPSERT || (o->kind == CMAP_INSERT && !there))
		m->value[i] = o->value;
	if (o->kind != CMAP_FIND)
		m->there[i] = o->kind != CMAP_REMOVE;
	m->size += (size_t)(m->there[i] - there);
}

static void operate(struct cmap_handle *h, struct cmap_operation *o)
{
	if (o->kind == CMAP_FIND)
		o->result = cmap_find(h, o->key, &o->value);
	else if (o->kind == CMAP_INSERT)
		o->result = cmap_insert(h, o->key, o->value);
	else if (o->kind == CMAP_UPSERT)
		o->result = cmap_upsert(h, o->key, o->value);
	else
		o->result = cmap_remove(h, o->key, &o->value);
}

static size_t index_of(const struct model *m, uint64_t key)
{
	for (size_t i = 0; i < m->keys; i++)
		if (m->key[i] == key)
			return i;
	fail_msg("the map has a key that nobody inserted");
	return 0;
}

/* A scan that returns `room` pairs a call finds the keys and values of the model, each once. */
static void assert_same(struct cmap_handle *h, const struct cmap *map, const struct model *m,
			size_t room)
{
	struct cmap_cursor cursor = { 0 };
	struct cmap_pair pair[100];
	bool seen[MOST] = { 0 };
	size_t all = 0;

	for (size_t n; (n = cmap_scan(h, &cursor, pair, room)) > 0; all += n)
		for (size_t k = 0; k < n; k++) {
			const size_t i = index_of(m, pair[k].key);

			assert_true(m->there[i]);
			assert_false(seen[i]);
			assert_int_equal(pair[k].value, m->value[i]);
			seen[i] = true;
		}
	assert_int_equal(all, m->size);
	assert_int_equal(cmap_size(map), m->size);
}

/* `batch`: operations at once; 0: single calls. The last half mostly removes. */
static void compare(struct model *m, uint64_t seed, size_t batch)
{
	struct counted_memory memory = { .limit = LONG_MAX };
	struct cmap *map = counted_open(&memory, 0, seed);
	struct cmap_handle *h = cmap_join(map);
	const unsigned rounds = cases(400);

	for (unsigned round = 0; round < rounds; round++) {
		struct cmap_operation got[64], wanted[64];
		const size_t n = batch ? batch : 64;

		for (size_t i = 0; i < n; i++) {
			const uint64_t random = random_word(seed + round, i);

			got[i] = wanted[i] = draw(m, random, round < rounds / 2 ? 10 : 4);
			expect(m, random % m->keys, &wanted[i]);
			if (!batch)
				operate(h, &got[i]);
		}
		if (batch)
			cmap_batch(h, got, n);
		for (size_t i = 0; i < n; i++) {
			assert_int_equal(got[i].result, wanted[i].result);
			if (got[i].kind == CMAP_FIND || got[i].kind == CMAP_REMOVE)
				assert_int_equal(got[i].value, wanted[i].value);
		}
		if (round % 50 == 0)
			assert_same(h, map, m, 1 + round % 100);
	}
	assert_same(h, map, m, 100);
	cmap_leave(h);
	cmap_close(map);
	assert_int_equal(memory.tables, 0);
}

static void test_random_histories(void **state)
{
	static struct model m;

	(void)state;
	for (unsigned i = 0; i < 6; i++) {
		choose_keys(&m, (size_t[]){ 3, 200, MOST }[i % 3]);
		compare(&m, i + 1, i < 3 ? 0 : 17 + i);
	}
}

/*
 * All keys fall into one bucket, whose chain needs more overflow buckets than a table usually has.
 */
static void test_colliding_keys(void **state)
{
	static struct model m;

	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		choose_colliding(&m, 500, i + 1);
		compare(&m, i + 1, i ? 40 : 0);
	}
}

static void fill(struct cmap_handle *h, struct model *m, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		assert_int_equal(cmap_insert(h, m->key[i], i), 1);
		m->there[i] = true;
		m->value[i] = i;
		m->size++;
	}
}

static void test_shrinks_and_gives_back(void **state)
{
	static struct model m;
	struct counted_memory memory = { .limit = LONG_MAX };
	struct cmap *map = counted_open(&memory, 0, 1);
	struct cmap_handle *h = cmap_join(map);
	const size_t least = cmap_bytes(map);
	uint64_t value;

	(void)state;
	choose_keys(&m, MOST);
	for (unsigned turn = 0; turn < 5; turn++) {
		fill(h, &m, MOST);
		assert_true(cmap_bytes(map) >= MOST * 2 * sizeof(uint64_t));
		for (size_t i = 0; i < MOST; i++) {
			assert_true(cmap_remove(h, m.key[i], &value));
			m.there[i] = false;
			m.size--;
		}
		/* Writers finish the move that is under way. */
		for (unsigned i = 0; i < 1000; i++) {
			cmap_insert(h, 5, 5);
			cmap_remove(h, 5, &value);
		}
		assert_same(h, map, &m, 7);
		assert_int_equal(memory.tables, 1);
		assert_true(cmap_bytes(map) <= 4 * least);
	}
	cmap_leave(h);
	cmap_close(map);
}

/* Keys that do not fit are refused until there is memory; all else continues as before. */
static void no_memory(struct model *m, size_t capacity, bool refused)
{
	struct counted_memory memory = { .limit = 1 };
	struct cmap *map = counted_open(&memory, capacity, 1);
	struct cmap_handle *h = cmap_join(map);
	size_t n = 0;
	uint64_t value;

	while (n < m->keys && cmap_insert(h, m->key[n], n) == 1) {
		m->there[n] = true;
		m->value[n++] = m->size++;
	}
	assert_true(memory.refused > 0);
	assert_int_equal(n < m->keys, refused);
	assert_same(h, map, m, 10);
	if (refused) {
		assert_int_equal(cmap_upsert(h, m->key[n], 1), -1);
		assert_false(cmap_find(h, m->key[n], &value));
	}
	assert_int_equal(cmap_upsert(h, m->key[0], 77), 0);
	assert_true(cmap_remove(h, m->key[0], &value));
	assert_int_equal(value, 77);
	m->there[0] = false;
	m->size--;
	assert_same(h, map, m, 10);
	memory.limit = LONG_MAX;
	for (; n < m->keys; n++) {
		assert_int_equal(cmap_insert(h, m->key[n], n), 1);
		m->there[n] = true;
		m->value[n] = n;
		m->size++;
	}
	assert_same(h, map, m, 10);
	cmap_leave(h);
	cmap_close(map);
	assert_int_equal(memory.tables, 0);
}

static void test_no_memory(void **state)
{
	struct counted_memory none = { 0 };
	static struct model m;

	(void)state;
	assert_null(counted_open(&none, 0, 1));
	choose_keys(&m, MOST);
	no_memory(&m, 0, true);
	choose_keys(&m, 1100);
	no_memory(&m, 1000, false);
	choose_colliding(&m, 300, 1);
	no_memory(&m, 0, true);
}

/*
 * A reader accepts what it read in a bucket only if the bucket's word is the same before and after.
 * So an insertion or a removal must change the word, even if the same slots remain in use: a slot
 * may hold another key. A new value alone does not change the word.
 */
static void test_readers_notice_changes(void **state)
{
	enum { KEYS = 12 };
	static struct model m;
	struct counted_memory memory = { .limit = LONG_MAX };
	struct cmap *map = counted_open(&memory, 0, 1);
	struct cmap_handle *h = cmap_join(map);
	struct bucket *b;
	uint64_t value;

	(void)state;
	choose_colliding(&m, KEYS, 1);
	b = table_home(tables_enter(h), table_hash(h->seed, m.key[0]));
	for (unsigned i = 0; i < cases(1000); i++) {
		const struct cmap_operation o = draw(&m, random_word(1, i), i / 100 % 2 ? 10 : 4);
		const uint64_t word = bucket_load(&b->word);
		bool changed = false;

		assert_false(word & (BUCKET_LOCK | BUCKET_MOVED));
		switch (o.kind) {
		case CMAP_FIND:
			cmap_find(h, o.key, &value);
			break;
		case CMAP_INSERT:
			changed = cmap_insert(h, o.key, 1);
			break;
		case CMAP_UPSERT:
			changed = cmap_upsert(h, o.key, 2);
			break;
		case CMAP_REMOVE:
			changed = cmap_remove(h, o.key, &value);
			/* the slots in use may be the same again */
			if (changed && cmap_insert(h, o.key, 3))
				cmap_remove(h, o.key, &value);
			break;
		}
		assert_int_equal(bucket_unchanged(b, word), !changed);
	}
	cmap_leave(h);
	cmap_close(map);
}

/* Lines of 64 bytes: all keys are in the first line, where they are compared at once. */
static void test_bucket_is_two_lines(void **state)
{
	(void)state;
	assert_int_equal(sizeof(struct bucket), 128);
	assert_int_equal(_Alignof(struct bucket), 128);
	assert_int_equal(offsetof(struct bucket, value), 64);
}

/* A removed key, or one that agrees only in half of its bits, is not found. */
static void test_match(void **state)
{
	_Alignas(128) struct bucket b = { .word = 0 };
	const uint64_t half = UINT64_C(1) << 32;

	(void)state;
	for (unsigned i = 1; i <= BUCKET_SLOTS; i++)
		bucket_fill(&b, i, i * half + 7, i);
	b.word = BUCKET_USED & ~UINT64_C(4);
	for (unsigned i = 0; i <= BUCKET_SLOTS; i++) {
		const uint64_t found = bucket_match(&b, b.word, i * half + 7);

		if (i == 0 || i == 2)
			assert_int_equal(found, 0);
		else
			assert_int_equal(bucket_first(found), i);
	}
	assert_int_equal(bucket_match(&b, b.word, b.word), 0);
	assert_int_equal(bucket_free(b.word), 4);
	assert_int_equal(bucket_free(BUCKET_USED), 0);
}

/* Regular keys spread like random ones, whatever the seed: few buckets are full. */
static void test_hash_spreads(void **state)
{
	enum { HOMES = 1024, EACH = 4, SEEDS = 200 };

	(void)state;
	for (unsigned seed = 1; seed <= SEEDS; seed++)
		for (unsigned shift = 0; shift <= 48; shift += 12) {
			const struct table_seed s = table_seed_of(seed);
			unsigned keys[HOMES] = { 0 }, beyond = 0;

			for (uint64_t i = 0; i < HOMES * EACH; i++)
				beyond += ++keys[table_hash(s, i << shift) /
						 (UINT64_MAX / HOMES + 1)] > BUCKET_SLOTS;
			/* Poisson: 2.1 % of the keys; a standard deviation is about 0.3 % */
			assert_true(beyond < HOMES * EACH / 25);
		}
}

/* With mapped memory: a map that was told the number of keys does not grow. */
static void test_capacity(void **state)
{
	struct cmap *map = cmap_open(&(struct cmap_options){ .capacity = 100000 });
	struct cmap_handle *h = cmap_join(map);
	const size_t bytes = cmap_bytes(map);
	uint64_t value;

	(void)state;
	for (uint64_t i = 0; i < 100000; i++)
		cmap_upsert(h, i * i, i);
	assert_int_equal(cmap_bytes(map), bytes);
	assert_int_equal(cmap_size(map), 100000);
	assert_true(cmap_find(h, 99999ull * 99999ull, &value));
	assert_int_equal(value, 99999);
	cmap_leave(h);
	cmap_leave(NULL);
	cmap_close(map);
	cmap_close(NULL);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_bucket_is_two_lines),
		cmocka_unit_test(test_match),
		cmocka_unit_test(test_hash_spreads),
		cmocka_unit_test(test_readers_notice_changes),
		cmocka_unit_test(test_random_histories),
		cmocka_unit_test(test_colliding_keys),
		cmocka_unit_test(test_shrinks_and_gives_back),
		cmocka_unit_test(test_no_memory),
		cmocka_unit_test(test_capacity),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
