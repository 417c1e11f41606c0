/* SPDX-License-Identifier: Apache-2.0 */
/* The concurrent map with more threads than CPUs: each knows the state of its own keys. */
#include <limits.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "counted_memory.h"
#include "held.h"
#include "cases.h"
#include "solve/map/tables.h"
#include "kit/random.h"

enum { THREADS = 6, OWN = 700, SEED = 3 };

struct party {
	struct cmap *map;
	unsigned rounds;
	uint64_t key[THREADS][OWN];
	_Atomic unsigned wrong, index;
	_Atomic bool end;
};

/* The upper half identifies the key of the value. */
static uint64_t value_of(uint64_t key, uint64_t random)
{
	return random_mix(key) >> 32 << 32 | (uint32_t)random;
}

static bool belongs(uint64_t key, uint64_t value)
{
	return value >> 32 == random_mix(key) >> 32;
}

static void party_open(struct party *p, struct counted_memory *memory, bool colliding)
{
	const struct table_seed seed = table_seed_of(SEED);
	uint64_t key = 0;

	*p = (struct party){ .map = counted_open(memory, 0, SEED), .rounds = cases(40) };
	for (unsigned i = 0; i < THREADS * OWN; i++, key++) {
		while (colliding && table_hash(seed, key) >> 55 != 5)
			key++;
		p->key[i % THREADS][i / THREADS] = key;
	}
}

/*
 * The results for own keys are known. For others' keys: if there is a value, it belongs to the key.
 */
static void *change_and_look(void *argument)
{
	struct party *p = argument;
	const unsigned me = atomic_fetch_add(&p->index, 1);
	struct cmap_handle *h = cmap_join(p->map);
	bool there[OWN] = { 0 };
	uint64_t last[OWN], value;
	unsigned wrong = 0;

	for (unsigned round = 0; round < p->rounds * OWN; round++) {
		const uint64_t random = random_word(me, round);
		const unsigned i = random % OWN, other = random >> 20 & 3;
		const uint64_t key = p->key[me][i], theirs = p->key[(me + other) % THREADS][i];
		/* mostly insertions and mostly removals in turn */
		const unsigned adds = round / OWN & 8 ? 12 : 4;

		if (cmap_find(h, theirs, &value))
			wrong += !belongs(theirs, value);
		wrong += cmap_find(h, key, &value) != there[i] || (there[i] && value != last[i]);
		value = value_of(key, random);
		if ((random >> 40 & 15) < adds) {
			wrong += cmap_upsert(h, key, value) != !there[i];
			there[i] = true;
			last[i] = value;
		} else {
			wrong += cmap_remove(h, key, &value) != there[i];
			wrong += there[i] && value != last[i];
			there[i] = false;
		}
	}
	for (unsigned i = 0; i < OWN; i++)
		if (there[i])
			wrong += !cmap_remove(h, p->key[me][i], &value);
	cmap_leave(h);
	atomic_fetch_add(&p->wrong, wrong);
	return NULL;
}

static void all_together(bool colliding)
{
	struct counted_memory memory = { .limit = LONG_MAX };
	static struct party p;
	pthread_t thread[THREADS];

	party_open(&p, &memory, colliding);
	for (unsigned i = 0; i < THREADS; i++)
		assert_false(pthread_create(&thread[i], NULL, change_and_look, &p));
	for (unsigned i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
	assert_int_equal(p.wrong, 0);
	assert_int_equal(cmap_size(p.map), 0);
	cmap_close(p.map);
	assert_int_equal(memory.tables, 0);
}

static void test_own_keys(void **state)
{
	(void)state;
	all_together(false);
}

static void test_own_colliding_keys(void **state)
{
	(void)state;
	all_together(true);
}

/* Fills the map and empties it: the table is replaced some ten times. */
static void grow_and_shrink(struct cmap_handle *h, uint64_t first, const struct counted_memory *m,
			    long most)
{
	enum { KEYS = 4000 };
	uint64_t value;

	for (uint64_t i = 0; i < KEYS; i++) {
		assert_int_equal(cmap_insert(h, first + i, value_of(first + i, i)), 1);
		assert_true(m->tables <= most);
	}
	for (uint64_t i = 0; i < KEYS; i++) {
		assert_true(cmap_remove(h, first + i, &value));
		assert_true(belongs(first + i, value));
		assert_true(m->tables <= most);
	}
}

static void *look(void *argument)
{
	struct party *p = argument;
	struct cmap_handle *h = cmap_join(p->map);
	uint64_t value;

	for (uint64_t i = 0; !atomic_load(&p->end); i++) {
		const uint64_t key = p->key[0][i % OWN];

		if (!cmap_find(h, key, &value) || !belongs(key, value))
			atomic_fetch_add(&p->wrong, 1);
	}
	cmap_leave(h);
	return NULL;
}

static void test_held_reader(void **state)
{
	/* The current table, its next one, and two that the reader names. */
	enum { MOST_TABLES = 4 };
	struct counted_memory memory = { .limit = LONG_MAX };
	static struct party p;
	struct cmap_handle *h;
	pthread_t reader;

	(void)state;
	held_open();
	party_open(&p, &memory, false);
	h = cmap_join(p.map);
	for (unsigned i = 0; i < OWN; i++)
		cmap_insert(h, p.key[0][i], value_of(p.key[0][i], i));
	assert_false(pthread_create(&reader, NULL, look, &p));
	for (unsigned turn = 0; turn < cases(20); turn++) {
		held_begin(reader);
		for (unsigned i = 0; i < 3; i++)
			grow_and_shrink(h, 1 << 20, &memory, MOST_TABLES);
		held_end();
	}
	atomic_store(&p.end, true);
	pthread_join(reader, NULL);
	assert_int_equal(p.wrong, 0);
	cmap_leave(h);
	cmap_close(p.map);
	assert_int_equal(memory.tables, 0);
	held_close();
}

/* A reader that has entered a table and followed it to the next one keeps both. */
static void test_named_tables_stay(void **state)
{
	struct counted_memory memory = { .limit = LONG_MAX };
	struct cmap *map = counted_open(&memory, 0, SEED);
	struct cmap_handle *h = cmap_join(map), *reader = cmap_join(map);
	struct table *t = tables_enter(reader), *next;

	(void)state;
	for (uint64_t i = 0; !t->next; i++)
		cmap_insert(h, i, value_of(i, i));
	next = tables_follow(reader, t);
	assert_ptr_equal(next, t->next);
	for (unsigned i = 0; i < 5; i++)
		grow_and_shrink(h, 1 << 20, &memory, 4);
	/* Both can be read, or ASan would report it. */
	assert_true(t->bucket[0].word & BUCKET_MOVED);
	assert_true(next->bucket[0].word & BUCKET_MOVED);
	/* Tables after them are freed; the current table may have got an address of theirs. */
	t = tables_follow(reader, next);
	assert_true(!t || t == map->current);
	assert_ptr_not_equal(tables_enter(reader), next);
	cmap_leave(h);
	cmap_leave(reader);
	assert_int_equal(memory.tables, map->current->next ? 2 : 1);
	cmap_close(map);
}

static void *grow_and_shrink_till_end(void *argument)
{
	struct party *p = argument;
	struct cmap_handle *h = cmap_join(p->map);
	const struct counted_memory memory = { 0 };

	while (!atomic_load(&p->end))
		grow_and_shrink(h, 1 << 20, &memory, LONG_MAX);
	cmap_leave(h);
	return NULL;
}

/* A scan visits keys that stay exactly once, while the table changes its size. */
static void test_scan_while_it_grows(void **state)
{
	struct counted_memory memory = { .limit = LONG_MAX };
	static struct party p;
	struct cmap_handle *h;
	pthread_t writer;

	(void)state;
	party_open(&p, &memory, false);
	h = cmap_join(p.map);
	for (uint64_t i = 0; i < OWN; i++)
		cmap_insert(h, i, value_of(i, i));
	assert_false(pthread_create(&writer, NULL, grow_and_shrink_till_end, &p));
	for (unsigned turn = 0; turn < cases(200); turn++) {
		struct cmap_cursor cursor = { 0 };
		struct cmap_pair pair[11];
		unsigned seen[OWN] = { 0 };

		for (size_t n; (n = cmap_scan(h, &cursor, pair, 1 + turn % 11)) > 0;)
			for (size_t i = 0; i < n; i++) {
				assert_true(belongs(pair[i].key, pair[i].value));
				if (pair[i].key < OWN)
					seen[pair[i].key]++;
			}
		for (unsigned i = 0; i < OWN; i++)
			assert_int_equal(seen[i], 1);
	}
	atomic_store(&p.end, true);
	pthread_join(writer, NULL);
	cmap_leave(h);
	cmap_close(p.map);
}

/* Threads come and go: handles are used again, and their counts are kept. */
static void *insert_one(void *argument)
{
	struct party *p = argument;
	struct cmap_handle *h = cmap_join(p->map);
	const uint64_t key = atomic_fetch_add(&p->index, 1);

	cmap_insert(h, key, value_of(key, 0));
	cmap_leave(h);
	return NULL;
}

static void test_threads_come_and_go(void **state)
{
	struct counted_memory memory = { .limit = LONG_MAX };
	static struct party p;
	unsigned handles = 0;

	(void)state;
	party_open(&p, &memory, false);
	for (unsigned turn = 0; turn < 20; turn++) {
		pthread_t thread[THREADS];

		for (unsigned i = 0; i < THREADS; i++)
			assert_false(pthread_create(&thread[i], NULL, insert_one, &p));
		for (unsigned i = 0; i < THREADS; i++)
			pthread_join(thread[i], NULL);
	}
	assert_int_equal(cmap_size(p.map), 20 * THREADS);
	for (struct cmap_handle *h = p.map->handles; h; h = h->next)
		handles++;
	assert_true(handles <= THREADS);
	cmap_close(p.map);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_own_keys),
		cmocka_unit_test(test_own_colliding_keys),
		cmocka_unit_test(test_held_reader),
		cmocka_unit_test(test_named_tables_stay),
		cmocka_unit_test(test_scan_while_it_grows),
		cmocka_unit_test(test_threads_come_and_go),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
