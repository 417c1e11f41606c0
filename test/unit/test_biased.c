/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The biased lock, which belongs to one thread. It protects plain memory, so two holders at a time
 * lose counts, and ThreadSanitizer reports a race.
 */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/apart.h"
#include "bench/actors/biased.h"
#include "cases.h"

enum { GUESTS = 2 };

struct shared {
	struct biased_lock lock;
	uint64_t counted, owner, guests[GUESTS]; /* sections of all; of the owner, of each guest */
	_Alignas(APART) _Atomic bool done;
};

/* Slow enough that two threads at a time overwrite each other's count. */
static void count(struct shared *s)
{
	const uint64_t before = s->counted;

	for (unsigned i = 0; i < 4; i++)
		cpu_pause();
	s->counted = before + 1;
}

struct guest {
	pthread_t thread;
	struct shared *shared;
	unsigned me;
};

static void *visit(void *argument)
{
	struct guest *g = argument;
	struct shared *s = g->shared;

	while (!s->done) {
		if (!biased_visit(&s->lock))
			continue;
		count(s);
		s->guests[g->me]++;
		biased_leave(&s->lock);
		for (unsigned turn = 0; turn < 20; turn++)
			relax(turn, 19);
	}
	return NULL;
}

static uint64_t visits(const struct shared *s)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < GUESTS; i++)
		sum += s->guests[i];
	return sum;
}

/*
 * The owner takes and releases the lock until guests have held it `enough` times, or for `turns`:
 * if all threads share one CPU, a guest gets the lock only once in a time slice.
 */
static void run(bool barriers)
{
	const uint64_t enough = cases(20000), turns = 1000 * enough;
	struct shared s = { .lock.barriers = barriers };
	struct guest g[GUESTS];
	uint64_t seen = 0;

	for (unsigned i = 0; i < GUESTS; i++) {
		g[i] = (struct guest){ .shared = &s, .me = i };
		assert_int_equal(pthread_create(&g[i].thread, NULL, visit, &g[i]), 0);
	}
	while (seen < enough && (!seen || s.owner < turns)) {
		biased_acquire(&s.lock);
		count(&s);
		s.owner++;
		seen = visits(&s);
		biased_release(&s.lock);
	}
	s.done = true;
	for (unsigned i = 0; i < GUESTS; i++)
		pthread_join(g[i].thread, NULL);
	assert_int_equal(s.counted, s.owner + visits(&s));
}

static void test_guests_order_it(void **state)
{
	(void)state;
	if (!biased_barriers())
		skip();
	run(true);
}

static void test_the_owner_orders_it(void **state)
{
	(void)state;
	run(false);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_guests_order_it),
		cmocka_unit_test(test_the_owner_orders_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
