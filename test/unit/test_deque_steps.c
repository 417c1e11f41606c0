/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The deque when one thread acts between any two steps of another: after each atomic operation of
 * one call, in a case of its own, comes a whole call of the other thread. So no case depends on how
 * threads happen to run. test_deque has real threads.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

static void step(void);

#undef atomic_load
#undef atomic_load_explicit
#undef atomic_store
#undef atomic_store_explicit
#undef atomic_compare_exchange_strong
#define atomic_load(object)		    (step(), *(object))
#define atomic_load_explicit(object, order) (step(), *(object))
#define atomic_store(object, value)	    (step(), (void)(*(object) = (value)))
#define atomic_store_explicit(object, value, order) \
	((void)(order), step(), (void)(*(object) = (value)))
#define atomic_compare_exchange_strong(object, expected, value) \
	(step(), swap(object, expected, value))

static bool swap(_Atomic int64_t *object, int64_t *expected, int64_t value)
{
	if (*object == *expected) {
		*object = value;
		return true;
	}
	*expected = *object;
	return false;
}

#include "bench/actors/actor.h"
#include "bench/actors/deque.h"

enum { SLOTS = 4, STEPS = 12 };

static struct actor *_Atomic slots[SLOTS];
static struct actor actors[SLOTS];
static struct deque deque;
static unsigned had[SLOTS]; /* how often a thread got each actor */

static unsigned steps, pause_at;
static void (*meanwhile)(void);

static void step(void)
{
	void (*call)(void) = meanwhile;

	if (!call || steps++ != pause_at)
		return;
	meanwhile = NULL;
	call();
}

static void get(const struct actor *a)
{
	if (a)
		had[a - actors]++;
}

static void take(void)
{
	get(deque_take(&deque));
}

static void steal(void)
{
	bool again;

	get(deque_steal(&deque, &again));
}

static void add(unsigned actor)
{
	deque_add(&deque, &actors[actor], memory_order_release);
}

/* The owner's slot is reused while a thief still has the actor that was in it. */
static void take_and_add_another(void)
{
	take();
	add(SLOTS - 1);
}

static void steal_all(void)
{
	for (unsigned i = 0; i < SLOTS; i++)
		steal();
}

/*
 * Plays with n actors. `call` pauses before step number `at`, while another thread makes the other
 * call.
 */
static void play(unsigned n, void (*call)(void), void (*other)(void), unsigned at)
{
	deque = (struct deque){ .slot = slots, .mask = SLOTS - 1, .top = 5, .bottom = 5 };
	memset(had, 0, sizeof(had));
	meanwhile = NULL;
	for (unsigned i = 0; i < n; i++)
		add(i);
	steps = 0;
	pause_at = at;
	meanwhile = other;
	call();
	if (meanwhile) { /* the call has fewer steps */
		meanwhile = NULL;
		other();
	}
	for (unsigned i = 0; i < SLOTS; i++)
		take();
}

static void each_actor_is_had_once(void (*call)(void), void (*other)(void))
{
	for (unsigned n = 0; n < SLOTS; n++)
		for (unsigned at = 0; at < STEPS; at++) {
			play(n, call, other, at);
			for (unsigned i = 0; i < n; i++)
				if (had[i] != 1)
					fail_msg("actor %u of %u was had %u times: step %u", i, n,
						 had[i], at);
			if (other == take_and_add_another)
				assert_int_equal(had[SLOTS - 1], 1);
		}
}

static void a_thief_while_the_owner_takes(void **state)
{
	(void)state;
	each_actor_is_had_once(take, steal);
	each_actor_is_had_once(take, steal_all);
}

static void the_owner_while_a_thief_steals(void **state)
{
	(void)state;
	each_actor_is_had_once(steal, take);
	each_actor_is_had_once(steal, take_and_add_another);
}

static void a_thief_while_another_steals(void **state)
{
	(void)state;
	each_actor_is_had_once(steal, steal);
	each_actor_is_had_once(steal, steal_all);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_thief_while_the_owner_takes),
		cmocka_unit_test(the_owner_while_a_thief_steals),
		cmocka_unit_test(a_thief_while_another_steals),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
