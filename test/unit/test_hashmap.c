/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hashmap: where locks and counts lie, which keys and operations are drawn, and which faults are
 * found.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "bench/hashmap/entries.h"
#include "bench/hashmap/mix.h"
#include "bench/hashmap/striped.h"
#include "maps.h"

/*
 * As published: a line has 16 locks of 4 bytes, 4 of 16 bytes, or one or two of 40 bytes; with
 * padding, 15 of 16 elements are unused.
 */
static void test_geometry(void **state)
{
	static const struct {
		size_t bytes, padding;
		unsigned most; /* locks that begin on one line of 64 bytes */
	} lock[] = { { 4, 1, 16 }, { 16, 1, 4 },  { 40, 1, 2 },
		     { 4, 16, 1 }, { 16, 16, 1 }, { 40, 16, 1 } };

	(void)state;
	for (unsigned i = 0; i < sizeof(lock) / sizeof(*lock); i++) {
		struct map_shape shape = maps_small;
		struct stripes s;
		void *memory;
		unsigned on_a_line[32 * 40 * 16 / 64] = { 0 }, most = 0;

		shape.stripes = shape.buckets = 32;
		shape.lock_stride = lock[i].bytes * lock[i].padding;
		shape.size_stride = sizeof(uint32_t) * lock[i].padding;
		memory = apart_alloc(stripes_bytes(&shape));
		stripes_open(&s, &shape, &(struct map_memory){ .shared = memory });
		for (unsigned n = 0; n < shape.stripes; n++) {
			const size_t at = (size_t)((char *)stripes_lock_of(&s, n) - (char *)memory);
			const size_t size =
				(size_t)((char *)stripes_size_of(&s, n) - (char *)memory);
			unsigned *line = &on_a_line[at / 64];

			assert_int_equal(at, n * lock[i].bytes * lock[i].padding);
			/* no count shares a line with a lock */
			assert_true(size / APART > (31 * shape.lock_stride + 3) / APART);
			most = ++*line > most ? *line : most;
		}
		assert_int_equal(most, lock[i].most);
		assert_int_equal((char *)stripes_size_of(&s, 1) - (char *)stripes_size_of(&s, 0),
				 4 * lock[i].padding);
		/* tables follow, each where the one before it ends */
		assert_int_equal(stripes_table(&s, 64), 32);
		assert_int_equal(stripes_table(&s, 128), 32 + 64);
		assert_true((char *)s.tables >= (char *)stripes_size_of(&s, 31) + sizeof(uint32_t));
		assert_true((char *)(s.tables + stripes_table(&s, s.most) + s.most) <=
			    (char *)memory + stripes_bytes(&shape));
		free(memory);
	}
}

/* The thread that doubles the table has the locks of all stripes. */
static void test_all_locks_are_taken(void **state)
{
	struct map_shape shape = maps_small;
	void *memory = apart_alloc(stripes_bytes(&shape));
	struct stripes s;

	(void)state;
	stripes_open(&s, &shape, &(struct map_memory){ .shared = memory });
	stripes_lock_all(&s, 0);
	for (unsigned i = 0; i < shape.stripes; i++)
		assert_false(spin_lock_try(stripes_lock_of(&s, i)));
	stripes_unlock_all(&s);
	for (unsigned i = 0; i < shape.stripes; i++)
		assert_true(spin_lock_try(stripes_lock_of(&s, i)));
	free(memory);
}

static void test_an_entry_stays_in_its_stripe(void **state)
{
	(void)state;
	for (uint64_t key = 0; key < 1000; key++)
		for (size_t buckets = 32; buckets < 1 << 20; buckets *= 2)
			assert_int_equal((map_hash(key) & (buckets - 1)) % 32, map_hash(key) % 32);
}

enum { DRAWN = 1 << 16, RANGE = 1000 };

static bool near(double share, double expected)
{
	return fabs(share - expected) < 4 * sqrt(expected / DRAWN) + 1e-9;
}

/*
 * Shares of each kind of operation and of the first key in what was drawn; the number of distinct
 * keys.
 */
struct drawn {
	double kind[MIX_COURSE_RENEW + 1], first;
	uint64_t keys;
};

static struct drawn draw(const struct mix *m, bool read_only)
{
	struct operation o[DRAWN];
	struct drawn d = { .first = 0 };
	bool seen[RANGE] = { false };

	mix_draw(m, 7, 100, read_only, o, DRAWN);
	for (unsigned i = 0; i < DRAWN; i++) {
		const uint64_t number = mix_number(o[i].key);

		assert_true(number < m->range);
		assert_int_equal(mix_key(number), o[i].key);
		d.kind[o[i].kind] += 1.0 / DRAWN;
		d.first += number ? 0 : 1.0 / DRAWN;
		d.keys += !seen[number];
		seen[number] = true;
	}
	return d;
}

static void test_mixes(void **state)
{
	struct mix m = { .reads = 0.9, .turnover = 0.4, .range = RANGE };
	struct drawn d = draw(&m, false);

	(void)state;
	assert_true(near(d.kind[MIX_FIND], 0.9) && near(d.kind[MIX_INSERT], 0.02) &&
		    near(d.kind[MIX_REMOVE], 0.02) && near(d.kind[MIX_UPSERT], 0.06));
	assert_int_equal(d.keys, RANGE);
	assert_true(near(d.first, 1.0 / RANGE));
	assert_true(near(draw(&m, true).kind[MIX_FIND], 1));
	m.course = true;
	d = draw(&m, false);
	/* an absent key is inserted with probability 0.6, a present one renewed with 0.02 */
	assert_true(near(d.kind[MIX_COURSE_INSERT] + d.kind[MIX_COURSE_RENEW], 0.6) &&
		    near(d.kind[MIX_COURSE_RENEW], 0.02) && near(d.kind[MIX_COURSE_LOOK], 0.4));
}

static void test_skewed_keys(void **state)
{
	struct mix m = {
		.reads = 1, .range = RANGE, .distribution = DISTRIBUTION_HOT, .skew = 0.9
	};
	double weights = 0;

	(void)state;
	assert_true(near(draw(&m, false).first, 0.9 + 0.1 / RANGE));
	m.distribution = DISTRIBUTION_ZIPF;
	m.skew = 0.99;
	m.zipf = zipf_of(RANGE, m.skew);
	for (unsigned r = 1; r <= RANGE; r++)
		weights += pow(r, -m.skew);
	assert_true(near(draw(&m, false).first, 1 / weights));
}

/* The map starts with as many keys as the mix keeps. */
static void test_a_steady_mix_keeps_its_size(void **state)
{
	struct mix m = { .turnover = 1, .range = DRAWN };
	double held = 0;

	(void)state;
	for (uint64_t i = 0; i < m.range; i++)
		held += mix_holds(&m, i) ? 1.0 / DRAWN : 0;
	assert_true(near(held, 0.5));
	m.turnover = 0;
	for (uint64_t i = 0; i < m.range; i++)
		assert_true(mix_holds(&m, i));
	m.course = true;
	assert_false(mix_holds(&m, 0));
}

/* Entries of a thread that only removes reach one that only inserts. */
static void test_entries_go_round(void **state)
{
	enum { AT_ONCE = 3 * ENTRIES_BATCH };
	struct map_world w;
	struct map_shape shape = maps_small;
	struct entries *e;
	void *taken[AT_ONCE];

	(void)state;
	shape.threads = 2;
	w = maps_open(&striped_map, &shape, entries_room(24, AT_ONCE));
	e = entries_open(w.memory.pool, 24, 2);
	for (unsigned turn = 0; turn < 20; turn++) {
		for (unsigned i = 0; i < AT_ONCE; i++) {
			taken[i] = entries_take(e, &w.worker[0]);
			assert_non_null(taken[i]);
		}
		for (unsigned i = 0; i < AT_ONCE; i++)
			entries_give(e, &w.worker[1], taken[i]);
	}
	entries_close(e);
	maps_close(&w);
}

/* A retired entry is kept while another thread may read it, and freed after that. */
static void test_epochs(void **state)
{
	struct map_world w;
	struct map_shape shape = maps_small;
	struct entries *entries;
	struct epoch *e;
	void *entry;

	(void)state;
	shape.threads = 2;
	w = maps_open(&striped_map, &shape, 0);
	entries = entries_open(w.memory.pool, 32, 2);
	e = epoch_open(entries, 16, 2, true);
	epoch_begin(e, 0);
	epoch_begin(e, 1);
	entry = entries_take(entries, &w.worker[0]);
	epoch_retire(e, 0, entry);
	assert_false(epoch_await(e, &w.worker[0])); /* the other thread does not rest */
	assert_int_equal(epoch_kept(e), 1);
	epoch_end(e, 1);
	assert_true(epoch_await(e, &w.worker[0]));
	assert_int_equal(epoch_kept(e), 0);
	assert_ptr_equal(entries_take(entries, &w.worker[0]), entry);
	epoch_close(e);
	e = epoch_open(entries, 16, 2, false);
	epoch_begin(e, 0);
	epoch_retire(e, 0, entry);
	assert_false(epoch_await(e, &w.worker[0]));
	epoch_close(e);
	entries_close(entries);
	maps_close(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_geometry),
		cmocka_unit_test(test_an_entry_stays_in_its_stripe),
		cmocka_unit_test(test_all_locks_are_taken),
		cmocka_unit_test(test_mixes),
		cmocka_unit_test(test_skewed_keys),
		cmocka_unit_test(test_a_steady_mix_keeps_its_size),
		cmocka_unit_test(test_entries_go_round),
		cmocka_unit_test(test_epochs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
