/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parking: no unpark is missed, however it meets the park. A missed one would leave a thread asleep
 * for ever: the alarm ends the test. ThreadSanitizer shows that writes before unpark() are visible
 * after park(), since the threads hand over plain variables.
 */
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/time.h>
#include <unistd.h>
#include <cmocka.h>

#include "kit/park.h"
#include "machine/clock.h"
#include "bounded.h"

/* ENOUGH, in s, limits the turns on an emulated machine, whose threads are slow to wake. */
enum { TURNS = 20000, WAKERS = 4, ENOUGH = 1 };

static void test_a_token_is_there_once(void **state)
{
	struct parking p = { 0 };

	(void)state;
	unpark(&p);
	unpark(&p);
	park(&p);
	/* no token */
	assert_int_equal(atomic_load(&p.state), 0);
}

static _Atomic unsigned rung; /* by a signal handler, and read by another thread */

static void ring(int signal)
{
	(void)signal;
	atomic_fetch_add(&rung, 1);
}

struct sleeper {
	struct parking parking;
	_Atomic bool woken;
};

/* Signals interrupt only the other thread, which parks meanwhile. */
static void *wake_after_signals(void *argument)
{
	struct sleeper *s = argument;

	while (atomic_load(&rung) < 10)
		sched_yield();
	atomic_store(&s->woken, true);
	unpark(&s->parking);
	return NULL;
}

/* Each signal ends the system call with EINTR. */
static void test_signals_do_not_end_its_wait(void **state)
{
	const struct itimerval each_ms = { { 0, 1000 }, { 0, 1000 } }, never = { 0 };
	const struct sigaction act = { .sa_handler = ring };
	struct sigaction before;
	struct sleeper s = { .woken = false };
	pthread_t waker;
	sigset_t alarms;

	(void)state;
	sigemptyset(&alarms);
	sigaddset(&alarms, SIGALRM);
	assert_int_equal(sigaction(SIGALRM, &act, &before), 0);
	pthread_sigmask(SIG_BLOCK, &alarms, NULL);
	assert_int_equal(pthread_create(&waker, NULL, wake_after_signals, &s), 0);
	pthread_sigmask(SIG_UNBLOCK, &alarms, NULL);
	assert_int_equal(setitimer(ITIMER_REAL, &each_ms, NULL), 0);
	park(&s.parking);
	assert_true(atomic_load(&s.woken));
	assert_int_equal(setitimer(ITIMER_REAL, &never, NULL), 0);
	pthread_join(waker, NULL);
	assert_int_equal(sigaction(SIGALRM, &before, NULL), 0);
	(void)begin_bounded(state); /* the timer is the same */
}

/* Two threads hand a plain number back and forth. */
struct game {
	struct parking at[2];
	uint64_t number;
	double until; /* of clock_now() */
	bool over;
	uint64_t turns[2];
};

struct player {
	struct game *game;
	unsigned side;
};

/* The first player announces at the end of its turn that there were enough. */
static void play(struct game *g, unsigned side)
{
	for (bool last = false; !last;) {
		park(&g->at[side]);
		g->number++;
		g->turns[side]++;
		if (side == 0)
			g->over = g->turns[0] == TURNS || clock_now() > g->until;
		last = g->over;
		unpark(&g->at[!side]);
	}
}

static void *play_along(void *argument)
{
	const struct player *p = argument;

	play(p->game, p->side);
	return NULL;
}

static void test_what_is_handed_over_is_seen(void **state)
{
	struct game g = { .until = clock_now() + ENOUGH };
	struct player other = { &g, 1 };
	pthread_t thread;

	(void)state;
	assert_int_equal(pthread_create(&thread, NULL, play_along, &other), 0);
	unpark(&g.at[0]);
	play(&g, 0);
	pthread_join(thread, NULL);
	assert_true(g.turns[0] > 0 && g.turns[0] == g.turns[1]);
	assert_int_equal(g.number, g.turns[0] + g.turns[1]);
}

/* Several threads wake one: a token stands for all wake-ups left before it was taken. */
struct office {
	struct parking clerk;
	_Atomic uint64_t waiting, brought;
	double until;
};

/* Added to the papers of a thread that will bring no more. */
#define THE_LAST ((uint64_t)1 << 32)

static void bring_one(struct office *o, uint64_t paper)
{
	atomic_fetch_add_explicit(&o->brought, paper, memory_order_relaxed);
	atomic_fetch_add_explicit(&o->waiting, paper, memory_order_relaxed);
	unpark(&o->clerk);
}

static void *bring(void *argument)
{
	struct office *o = argument;

	for (unsigned turn = 0; turn < TURNS && clock_now() < o->until; turn++) {
		bring_one(o, 1);
		if (turn % 16 == 0)
			sched_yield(); /* so that the clerk gets to sleep */
	}
	bring_one(o, THE_LAST);
	return NULL;
}

static void test_the_last_of_many_is_not_missed(void **state)
{
	struct office o = { .until = clock_now() + ENOUGH };
	pthread_t thread[WAKERS];
	uint64_t done = 0;

	(void)state;
	for (unsigned i = 0; i < WAKERS; i++)
		assert_int_equal(pthread_create(&thread[i], NULL, bring, &o), 0);
	while (done < WAKERS * THE_LAST) {
		park(&o.clerk);
		done += atomic_exchange_explicit(&o.waiting, 0, memory_order_relaxed);
	}
	for (unsigned i = 0; i < WAKERS; i++)
		pthread_join(thread[i], NULL);
	assert_true(done > WAKERS * THE_LAST);
	assert_int_equal(done, o.brought);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_token_is_there_once),
		cmocka_unit_test(test_signals_do_not_end_its_wait),
		cmocka_unit_test(test_what_is_handed_over_is_seen),
		cmocka_unit_test(test_the_last_of_many_is_not_missed),
	};

	return cmocka_run_group_tests(tests, begin_bounded, NULL);
}
