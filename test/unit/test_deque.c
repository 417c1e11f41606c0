/* SPDX-License-Identifier: Apache-2.0 */
/* The deque of a thread: against a model, and with thieves at the last element. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "bench/actors/actor.h"
#include "bench/actors/deque.h"
#include "base/relax.h"
#include "cases.h"
#include "kit/random.h"

enum { SLOTS = 8, THIEVES = 2 };

static struct actor *_Atomic slots[SLOTS];
static struct actor actors[SLOTS];

static void empty(struct deque *d)
{
	*d = (struct deque){ .slot = slots, .mask = SLOTS - 1 };
}

static void test_slots(void **state)
{
	(void)state;
	assert_int_equal(deque_slots(1), 1);
	assert_int_equal(deque_slots(5), 8);
	assert_int_equal(deque_slots(8), 8);
}

/* With one thread, the deque behaves like a list. */
static void test_against_a_model(void **state)
{
	struct actor *model[SLOTS];
	struct deque d;
	unsigned n = 0;
	bool again;

	(void)state;
	empty(&d);
	for (unsigned i = 0; i < 100000; i++) {
		const uint64_t random = random_word(3, i);

		assert_int_equal(deque_length(&d), n);
		if (random % 4 < 2 && n < SLOTS) {
			model[n++] = &actors[random / 4 % SLOTS];
			deque_add(&d, model[n - 1], memory_order_release);
		} else if (random % 4 == 2) {
			assert_ptr_equal(deque_take(&d), n ? model[n - 1] : NULL);
			n -= n > 0;
		} else if (random % 4 == 3) {
			assert_ptr_equal(deque_steal(&d, &again), n ? model[0] : NULL);
			assert_false(again);
			for (unsigned k = 1; k < n; k++)
				model[k - 1] = model[k];
			n -= n > 0;
		}
	}
}

struct heist {
	struct deque deque;
	_Atomic bool over;
	/*
	 * by actor: how often it was added and not yet taken. Plain memory: only the thread that
	 * got it may look.
	 */
	unsigned held[SLOTS];
	_Atomic unsigned free[SLOTS]; /* it may be added again */
	_Atomic uint64_t stolen, wrong;
};

/* The thread that gets an actor must find that it was added once. */
static void hold(struct heist *h, const struct actor *a)
{
	const unsigned i = (unsigned)(a - actors);

	h->wrong += h->held[i] != 1;
	h->held[i] = 0;
	atomic_store_explicit(&h->free[i], 1, memory_order_release);
}

static void *thief(void *argument)
{
	struct heist *h = argument;

	for (unsigned turn = 0; !h->over; turn++) {
		bool again;
		struct actor *a = deque_steal(&h->deque, &again);

		if (a) {
			hold(h, a);
			h->stolen++;
			turn = 0;
		} else {
			relax(turn, 50);
		}
	}
	return NULL;
}

/*
 * The owner adds one or two actors and takes them at once, so it meets the thieves at the last one:
 * exactly one thread gets each actor.
 */
static void test_the_last_element_is_had_once(void **state)
{
	const unsigned turns = cases(200000);
	struct heist *h = calloc(1, sizeof(*h) + APART);
	struct heist *heist = (void *)(((uintptr_t)h + APART - 1) & ~(uintptr_t)(APART - 1));
	pthread_t thread[THIEVES];
	uint64_t taken = 0, added = 0;

	(void)state;
	assert_non_null(h);
	empty(&heist->deque);
	for (unsigned i = 0; i < SLOTS; i++)
		heist->free[i] = 1;
	for (unsigned i = 0; i < THIEVES; i++)
		assert_int_equal(pthread_create(&thread[i], NULL, thief, heist), 0);
	for (unsigned turn = 0; turn < turns || !heist->stolen; turn++) {
		for (unsigned n = 0; n < 1 + turn % 2; n++) {
			const unsigned i = (turn + n) % SLOTS;

			if (!atomic_exchange_explicit(&heist->free[i], 0, memory_order_acquire))
				continue;
			heist->held[i]++;
			deque_add(&heist->deque, &actors[i], memory_order_release);
			added++;
		}
		for (struct actor *a; turn % 3 && (a = deque_take(&heist->deque));) {
			hold(heist, a);
			taken++;
		}
		if (turn % 1024 == 0)
			sched_yield();
	}
	for (struct actor *a; (a = deque_take(&heist->deque));) {
		hold(heist, a);
		taken++;
	}
	heist->over = true;
	for (unsigned i = 0; i < THIEVES; i++)
		pthread_join(thread[i], NULL);
	assert_int_equal(heist->wrong, 0);
	assert_int_equal(taken + heist->stolen, added);
	free(h);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_slots),
		cmocka_unit_test(test_against_a_model),
		cmocka_unit_test(test_the_last_element_is_had_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
