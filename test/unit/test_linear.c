/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every kind of map is linearizable, as far as small histories of several threads on few keys show:
 * keys of one bucket, while the table doubles. First comes the checker: it accepts possible
 * histories, refuses impossible ones, and finds a map that answers from a thread's memory.
 */
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>
#include <cmocka.h>

#include "cases.h"
#include "linear.h"
#include "maps.h"

static struct linear_search search;

#define FOUND(v, from, to)                     \
	{                                      \
		LINEAR_FIND, v, true, from, to \
	}
#define NOT_FOUND(from, to)                                 \
	{                                                   \
		LINEAR_FIND, LINEAR_ABSENT, false, from, to \
	}
#define INSERTED(v, from, to)                     \
	{                                         \
		LINEAR_INSERT, v, false, from, to \
	}
#define THERE(v, from, to)                       \
	{                                        \
		LINEAR_INSERT, v, true, from, to \
	}
#define PUT(v, from, to)                         \
	{                                        \
		LINEAR_UPSERT, v, true, from, to \
	}
#define REMOVED(from, to)                        \
	{                                        \
		LINEAR_REMOVE, 0, true, from, to \
	}
#define NOT_THERE(from, to)                       \
	{                                         \
		LINEAR_REMOVE, 0, false, from, to \
	}

static void test_checker(void **state)
{
	static const struct {
		struct linear_operation o[4];
		unsigned n, before;
		bool can_be;
	} history[] = {
		{ { INSERTED(1, 0, 1), FOUND(1, 2, 3) }, 2, 0, true },
		{ { INSERTED(1, 0, 1), NOT_FOUND(2, 3) }, 2, 0, false },
		{ { INSERTED(1, 0, 3), NOT_FOUND(1, 2) }, 2, 0, true },
		{ { INSERTED(1, 0, 5), FOUND(1, 1, 2), NOT_FOUND(3, 4) }, 3, 0, false },
		{ { INSERTED(1, 0, 5), NOT_FOUND(1, 2), FOUND(1, 3, 4) }, 3, 0, true },
		{ { INSERTED(1, 0, 3), INSERTED(2, 1, 2) }, 2, 0, false },
		{ { INSERTED(1, 0, 3), THERE(2, 1, 2), FOUND(1, 4, 5) }, 3, 0, true },
		{ { INSERTED(1, 0, 3), THERE(2, 1, 2), FOUND(2, 4, 5) }, 3, 0, false },
		{ { PUT(2, 0, 1), FOUND(1, 2, 3) }, 2, 1, false },
		{ { PUT(2, 0, 3), FOUND(1, 1, 2), FOUND(2, 4, 5) }, 3, 1, true },
		{ { PUT(2, 0, 9), PUT(3, 0, 9), FOUND(3, 1, 2), FOUND(2, 3, 4) }, 4, 1, true },
		{ { PUT(2, 0, 1), PUT(3, 2, 3), FOUND(3, 4, 5), FOUND(2, 6, 7) }, 4, 1, false },
		{ { REMOVED(0, 5), REMOVED(1, 4) }, 2, 1, false },
		{ { REMOVED(0, 5), NOT_THERE(1, 4), NOT_FOUND(6, 7) }, 3, 1, true },
		{ { FOUND(7, 0, 1) }, 1, 1, false }, /* a value that nobody wrote */
	};

	(void)state;
	for (unsigned i = 0; i < sizeof(history) / sizeof(*history); i++)
		assert_int_equal(
			linear_check(&search, history[i].o, history[i].n, history[i].before),
			history[i].can_be);
}

/*
 * On busy CPUs each round waits until all three threads have run. So each map gets FEWEST rounds,
 * and more within SECONDS.
 */
enum { THREADS = 3, KEYS = 2, EACH = 6, FEWEST = 200, SECONDS = 4 };

struct arena {
	struct map_world *w;
	unsigned rounds;
	time_t end;
	bool over;
	pthread_barrier_t barrier;
	_Atomic uint64_t clock;
	unsigned round, bad;
	unsigned before[KEYS]; /* values */
	struct linear_operation log[THREADS][EACH];
	unsigned key[THREADS][EACH];
};

struct player {
	struct arena *a;
	unsigned thread;
};

/* Keys that stay in one bucket until the table has 2^20 buckets. */
static uint64_t arena_key(unsigned k)
{
	return maps_key_of((uint64_t)k << 40);
}

static void note(struct arena *a, unsigned thread, unsigned i, uint64_t random)
{
	struct map_world *w = a->w;
	struct worker *self = &w->worker[thread];
	struct linear_operation *o = &a->log[thread][i];
	const uint64_t key = arena_key(a->key[thread][i]);
	const unsigned written = 1 + KEYS + thread * EACH + i;
	uint64_t value = written;

	o->kind = (enum linear_kind)(random % 4);
	o->value = written;
	if (random >> 8 & 1)
		sched_yield();
	o->called = atomic_fetch_add(&a->clock, 1);
	switch (o->kind) {
	case LINEAR_FIND:
		o->present = w->kind->find(w->map, self, key, &value) == MAP_PRESENT;
		o->value = o->present ? (unsigned)value : LINEAR_ABSENT;
		break;
	case LINEAR_INSERT:
		o->present = w->kind->insert(w->map, self, key, &value) == MAP_PRESENT;
		break;
	case LINEAR_UPSERT:
		o->present = w->kind->upsert(w->map, self, key, &value) == MAP_PRESENT;
		break;
	default:
		o->present = w->kind->remove(w->map, self, key) == MAP_PRESENT;
	}
	o->returned = atomic_fetch_add(&a->clock, 1);
}

/* Gives each key a known value, or removes it. */
static void set_up(struct arena *a)
{
	struct map_world *w = a->w;
	struct worker *self = &w->worker[0];

	maps_call(w->kind->begin, w, 0);
	for (unsigned k = 0; k < KEYS; k++) {
		uint64_t value = 1 + k;

		a->before[k] = random_word(a->round, k) % 2 ? 1 + k : LINEAR_ABSENT;
		if (a->before[k])
			w->kind->upsert(w->map, self, arena_key(k), &value);
		else
			w->kind->remove(w->map, self, arena_key(k));
	}
	maps_call(w->kind->end, w, 0);
}

static void judge(struct arena *a)
{
	for (unsigned k = 0; k < KEYS; k++) {
		struct linear_operation o[THREADS * EACH];
		unsigned n = 0;

		for (unsigned t = 0; t < THREADS; t++)
			for (unsigned i = 0; i < EACH; i++)
				if (a->key[t][i] == k)
					o[n++] = a->log[t][i];
		a->bad += !linear_check(&search, o, n, a->before[k]);
	}
}

static void play_round(struct arena *a, unsigned thread)
{
	struct map_world *w = a->w;

	maps_call(w->kind->begin, w, thread);
	for (unsigned i = 0; i < EACH; i++) {
		const uint64_t random = random_word(((uint64_t)a->round << 8) + thread, i),
			       other = KEYS + random;
		uint64_t value = 1;

		a->key[thread][i] = (unsigned)(random >> 16) % KEYS;
		note(a, thread, i, random);
		/* in the same bucket, or in any: chains and tables change under the others */
		if (i % 3 == thread)
			w->kind->insert(w->map, &w->worker[thread],
					random >> 32 & 1 ? arena_key(KEYS + i) : other, &value);
		if (i % 3 == thread && random >> 33 & 1)
			w->kind->remove(w->map, &w->worker[thread], arena_key(KEYS + i));
	}
	maps_call(w->kind->rest, w, thread);
	/* a thread that waits at the barrier does not rest, and would delay reclamation */
	maps_call(w->kind->end, w, thread);
}

static void *play(void *argument)
{
	const struct player *p = argument;
	struct arena *a = p->a;

	for (unsigned round = 0; round < a->rounds; round++) {
		if (!p->thread) {
			a->round = round;
			a->over = round >= FEWEST && time(NULL) > a->end;
			set_up(a);
		}
		pthread_barrier_wait(&a->barrier);
		if (a->over)
			break;
		play_round(a, p->thread);
		pthread_barrier_wait(&a->barrier);
		if (!p->thread)
			judge(a);
	}
	return NULL;
}

/* Counts the histories that are not linearizable. */
static unsigned bad_histories(const struct map_kind *kind, unsigned rounds)
{
	struct map_shape shape = maps_small;
	struct map_world w;
	static struct arena a;
	struct player player[THREADS];
	pthread_t thread[THREADS];

	shape.threads = THREADS;
	shape.keys = shape.share = (uint64_t)rounds * THREADS * EACH + 100;
	w = maps_open(kind, &shape, 0);
	memset(&a, 0, sizeof(a));
	a.w = &w;
	a.rounds = rounds;
	a.end = time(NULL) + SECONDS;
	pthread_barrier_init(&a.barrier, NULL, THREADS);
	for (unsigned t = 0; t < THREADS; t++) {
		player[t] = (struct player){ &a, t };
		assert_int_equal(pthread_create(&thread[t], NULL, play, &player[t]), 0);
	}
	for (unsigned t = 0; t < THREADS; t++)
		pthread_join(thread[t], NULL);
	pthread_barrier_destroy(&a.barrier);
	for (unsigned t = 0; t < THREADS; t++)
		assert_null(w.worker[t].failed);
	maps_close(&w);
	return a.bad;
}

static void test_maps_are_linearizable(void **state)
{
	(void)state;
	for (const struct map_row *row = maps_next(NULL); row; row = maps_next(row)) {
		const unsigned bad = bad_histories(row->kind, cases(12000));

		if (bad)
			print_error("%s: %u of its histories can't have been\n", row->name, bad);
		assert_int_equal(bad, 0);
	}
}

/* Answers a lookup like this thread's last lookup, if it was for the same key. */
static struct {
	uint64_t key, value;
	enum map_answer answer;
	bool used;
} memory[THREADS];

static enum map_answer find_again(void *map, struct worker *self, uint64_t key, uint64_t *value)
{
	if (!memory[self->index].used || memory[self->index].key != key) {
		memory[self->index].answer = striped_map.find(map, self, key, value);
		memory[self->index].used = true;
		memory[self->index].key = key;
		memory[self->index].value = *value;
	}
	*value = memory[self->index].value;
	return memory[self->index].answer;
}

static void test_a_map_that_is_not(void **state)
{
	struct map_kind stale = striped_map;

	(void)state;
	stale.find = find_again;
	assert_true(bad_histories(&stale, FEWEST) > 0);
}

struct caller {
	struct map_world *w;
	enum linear_kind kind;
	atomic_bool done;
};

static void *call_once(void *argument)
{
	struct caller *c = argument;
	struct worker *self = &c->w->worker[0];
	uint64_t value = 1;

	if (c->kind == LINEAR_FIND)
		c->w->kind->find(c->w->map, self, arena_key(0), &value);
	else if (c->kind == LINEAR_INSERT)
		c->w->kind->insert(c->w->map, self, arena_key(0), &value);
	else if (c->kind == LINEAR_UPSERT)
		c->w->kind->upsert(c->w->map, self, arena_key(0), &value);
	else
		c->w->kind->remove(c->w->map, self, arena_key(0));
	atomic_store(&c->done, true);
	return NULL;
}

/* Stripe 0 has the first lock. Any number but 0 means held; it becomes 1 when somebody tries it. */
static void test_each_call_takes_its_lock(void **state)
{
	struct map_world w = maps_open(&striped_map, &maps_small, 0);
	_Atomic uint32_t *held = w.memory.shared;

	(void)state;
	for (unsigned kind = 0; kind < 4; kind++) {
		struct caller c = { .w = &w, .kind = (enum linear_kind)kind };
		pthread_t thread;

		atomic_store(held, 2);
		assert_int_equal(pthread_create(&thread, NULL, call_once, &c), 0);
		while (atomic_load(held) == 2 && !atomic_load(&c.done))
			sched_yield();
		assert_int_equal(atomic_load(held), 1);
		atomic_store(held, 0);
		pthread_join(thread, NULL);
		assert_int_equal(atomic_load(held), 0);
	}
	maps_close(&w);
}

enum { REMOVALS = 1000 };

struct putter {
	struct map_world *w;
	atomic_ulong puts;
	atomic_bool stop;
};

static void *put_again_and_again(void *argument)
{
	struct putter *p = argument;
	struct worker *self = &p->w->worker[1];

	maps_call(p->w->kind->begin, p->w, 1);
	while (!p->stop) {
		const uint64_t value = 1 + p->puts;

		/* no memory: while the other thread is off its CPU, replaced entries are kept */
		if (p->w->kind->upsert(p->w->map, self, arena_key(0), &value) != MAP_NO_MEMORY)
			p->puts++;
		maps_call(p->w->kind->rest, p->w, 1);
	}
	maps_call(p->w->kind->end, p->w, 1);
	return NULL;
}

/* Counts the removals that miss a present key, while another thread replaces its value. */
static unsigned long lost_removals(struct putter *p)
{
	struct worker *self = &p->w->worker[0];
	const time_t end = time(NULL) + 2;
	unsigned long lost = 0;

	maps_call(p->w->kind->begin, p->w, 0);
	for (unsigned i = 0; i < REMOVALS && time(NULL) < end; i++) {
		/* the first put may have come before the last removal, and been counted after it */
		const unsigned long enough = p->puts + 2;

		for (unsigned j = 0; p->puts < enough; j++) {
			if (j % 100 == 0)
				sched_yield();
			maps_call(p->w->kind->rest, p->w, 0);
		}
		lost += p->w->kind->remove(p->w->map, self, arena_key(0)) != MAP_PRESENT;
		maps_call(p->w->kind->rest, p->w, 0);
	}
	maps_call(p->w->kind->end, p->w, 0);
	return lost;
}

static void test_a_removal_finds_what_is_put_anew(void **state)
{
	(void)state;
	for (const struct map_row *row = maps_next(NULL); row; row = maps_next(row)) {
		struct map_shape shape = maps_small;
		struct putter p = { NULL };
		struct map_world w;
		unsigned long lost;
		pthread_t thread;

		shape.threads = 2;
		shape.keys = shape.share = 100;
		w = maps_open(row->kind, &shape, 0);
		p.w = &w;
		assert_int_equal(pthread_create(&thread, NULL, put_again_and_again, &p), 0);
		lost = lost_removals(&p);
		p.stop = true;
		pthread_join(thread, NULL);
		maps_close(&w);
		if (lost)
			print_error("%s: %lu keys that were there\n", row->name, lost);
		assert_int_equal(lost, 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_checker),
		cmocka_unit_test(test_maps_are_linearizable),
		cmocka_unit_test(test_a_map_that_is_not),
		cmocka_unit_test(test_each_call_takes_its_lock),
		cmocka_unit_test(test_a_removal_finds_what_is_put_anew),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
