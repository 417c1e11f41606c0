/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Small concurrent histories of the concurrent map are linearizable: in a bucket and in its chain,
 * at rest and while buckets move.
 */
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "cases.h"
#include "counted_memory.h"
#include "linear.h"
#include "solve/map/tables.h"
#include "kit/random.h"

enum { THREADS = 3, KEYS = 2, EACH = 6, SEED = 9, FILLERS = 7 };

/*
 * A round: all threads start at once, and each does some operations on the same few keys of one
 * bucket.
 */
struct rounds {
	struct cmap *map;
	unsigned rounds;
	pthread_barrier_t barrier;
	_Atomic uint64_t clock;
	_Atomic unsigned threads;
	_Atomic bool end;
	uint64_t key[KEYS + FILLERS];
	struct linear_operation log[THREADS][EACH];
	unsigned key_of[THREADS][EACH];
	unsigned wrong;
};

/* Values are numbers from 1 on, all different. */
static void operate(struct cmap_handle *h, uint64_t key, struct linear_operation *o)
{
	uint64_t value = 0;

	switch (o->kind) {
	case LINEAR_FIND:
		o->present = cmap_find(h, key, &value);
		o->value = o->present ? (unsigned)value : LINEAR_ABSENT;
		break;
	case LINEAR_INSERT:
		o->present = !cmap_insert(h, key, o->value);
		break;
	case LINEAR_UPSERT:
		o->present = !cmap_upsert(h, key, o->value);
		break;
	case LINEAR_REMOVE:
		o->present = cmap_remove(h, key, &value);
		break;
	}
}

static void do_round(struct rounds *r, struct cmap_handle *h, unsigned me, uint64_t seed)
{
	for (unsigned i = 0; i < EACH; i++) {
		struct linear_operation *o = &r->log[me][i];
		const uint64_t random = random_word(seed, i);

		r->key_of[me][i] = random % KEYS;
		*o = (struct linear_operation){ .kind = random >> 8 & 3,
						.value = 1 + me * EACH + i };
		o->called = atomic_fetch_add(&r->clock, 1);
		operate(h, r->key[r->key_of[me][i]], o);
		o->returned = atomic_fetch_add(&r->clock, 1);
	}
}

static void check_round(struct rounds *r, struct cmap_handle *h)
{
	static struct linear_search search;

	for (unsigned k = 0; k < KEYS; k++) {
		struct linear_operation o[THREADS * EACH];
		unsigned n = 0;
		uint64_t value;

		for (unsigned t = 0; t < THREADS; t++)
			for (unsigned i = 0; i < EACH; i++)
				if (r->key_of[t][i] == k)
					o[n++] = r->log[t][i];
		r->wrong += !linear_check(&search, o, n, LINEAR_ABSENT);
		cmap_remove(h, r->key[k], &value);
	}
}

static void *take_part(void *argument)
{
	struct rounds *r = argument;
	const unsigned me = atomic_fetch_add(&r->threads, 1);
	struct cmap_handle *h = cmap_join(r->map);

	for (unsigned round = 0; round < r->rounds; round++) {
		pthread_barrier_wait(&r->barrier);
		do_round(r, h, me, random_word(me, round));
		pthread_barrier_wait(&r->barrier);
		if (me == 0)
			check_round(r, h);
	}
	cmap_leave(h);
	return NULL;
}

/* Other keys come and go, so that the table is replaced all the time. */
static void *replace_tables(void *argument)
{
	struct rounds *r = argument;
	struct cmap_handle *h = cmap_join(r->map);
	uint64_t value;

	while (!atomic_load(&r->end)) {
		for (uint64_t i = 0; i < 400; i++)
			cmap_insert(h, ~i, i);
		for (uint64_t i = 0; i < 400; i++)
			cmap_remove(h, ~i, &value);
	}
	cmap_leave(h);
	return NULL;
}

/* `fillers`: permanent keys of the same bucket, which push the others into its chain; 0: none. */
static void check(unsigned fillers, bool moving)
{
	struct counted_memory memory = { .limit = LONG_MAX };
	struct rounds r = { .map = counted_open(&memory, 0, SEED), .rounds = cases(4000) };
	const struct table_seed seed = table_seed_of(SEED);
	struct cmap_handle *h = cmap_join(r.map);
	pthread_t thread[THREADS], other;

	for (uint64_t key = 0, found = 0; found < KEYS + FILLERS; key++)
		if (table_hash(seed, key) >> 52 == 77)
			r.key[found++] = key;
	for (unsigned i = 0; i < fillers; i++)
		cmap_insert(h, r.key[KEYS + i], i);
	cmap_leave(h);
	pthread_barrier_init(&r.barrier, NULL, THREADS);
	if (moving)
		assert_false(pthread_create(&other, NULL, replace_tables, &r));
	for (unsigned i = 0; i < THREADS; i++)
		assert_false(pthread_create(&thread[i], NULL, take_part, &r));
	for (unsigned i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
	atomic_store(&r.end, true);
	if (moving)
		pthread_join(other, NULL);
	assert_int_equal(r.wrong, 0);
	pthread_barrier_destroy(&r.barrier);
	cmap_close(r.map);
}

static void test_histories(void **state)
{
	(void)state;
	for (unsigned fillers = 0; fillers <= FILLERS; fillers += FILLERS) {
		check(fillers, false);
		check(fillers, true);
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_histories),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
