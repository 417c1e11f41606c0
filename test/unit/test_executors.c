/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Executors: which thread runs an actor, when threads wake, and what waits meanwhile. A lost
 * wake-up would leave threads asleep for ever: the alarm ends the test.
 */
#include <string.h>
#include <unistd.h>

#include "cases.h"
#include "bounded.h"
#include "crews.h"

enum { ACTORS = 12 };

/* The first actor completes its message only after all others have completed theirs. */
struct endless {
	struct actor *actor;
	_Atomic unsigned others, ended;
};

static void wait_for_others(void *argument, struct crew_hand *h, struct actor *a, struct message *m)
{
	struct endless *e = argument;

	(void)m;
	if (a != e->actor) {
		e->ended++;
		return;
	}
	for (unsigned turn = 0; e->ended != e->others; turn++)
		relax(turn, 100);
	crew_stop(h->crew);
}

static void test_an_endless_message_holds_up_only_its_own_mailbox(void **state)
{
	(void)state;
	for (unsigned k = 0; k < crews_number(); k++) {
		struct message message[ACTORS];
		struct endless e = { .others = 0 };
		struct crew_world w;

		if (!crews[k].any && crews[k].executor != &executor_dedicated)
			continue;
		memset(message, 0, sizeof(message));
		crews_open(&w, &crews[k],
			   &(struct crew){ .threads = 2,
					   .actors = ACTORS,
					   .body = wait_for_others,
					   .argument = &e,
					   .spins = 20 });
		e.actor = w.actor;
		for (unsigned i = 0; i < ACTORS; i++) {
			/* a dedicated thread would run this actor only after the first one */
			if (i && !crews[k].any && w.actor[i].home == w.actor->home)
				continue;
			e.others += i > 0;
			crew_seed(&w.crew, w.actor[i].home, &message[i], &w.actor[i]);
		}
		crews_run(&w.crew);
		assert_int_equal(e.ended, e.others);
		crew_world_close(&w);
	}
}

/* Threads that sleep at once are woken for each message. */
static void count(void *argument, struct crew_hand *h, struct actor *a, struct message *m)
{
	(void)h, (void)a, (void)m;
	++*(_Atomic unsigned *)argument;
}

static void test_no_wake_up_is_lost(void **state)
{
	const unsigned turns = cases(4000);

	(void)state;
	for (unsigned k = 0; k < crews_number(); k++) {
		struct crew_thread thread[CREWS_THREADS];
		struct message message = { 0 };
		_Atomic unsigned handled = 0;
		struct crew_world w;

		if (crews[k].executor->own_threads)
			continue; /* its threads exist only during a run */
		crews_open(&w, &crews[k],
			   &(struct crew){ .threads = 2,
					   .actors = ACTORS,
					   .body = count,
					   .argument = &handled });
		crews_begin(&w.crew, thread);
		for (unsigned turn = 0; turn < turns; turn++) {
			unsigned looks = 0;

			crew_send_in(&w.crew, &message, &w.actor[turn % ACTORS], 0);
			while (atomic_load(&handled) != turn + 1)
				relax(looks++, turn % 7 * 50);
		}
		crew_stop(&w.crew);
		crew_threads_end(&w.crew, thread);
		crew_world_close(&w);
	}
}

/*
 * The first actor sends to each other actor of its thread, and waits for their answers while it
 * handles its own message: another thread, which may be about to sleep, has to run them.
 */
struct calls {
	struct actor *actor;
	struct message *message;
	unsigned others;
	_Atomic unsigned answered;
};

static void call(void *argument, struct crew_hand *h, struct actor *a, struct message *m)
{
	struct calls *calls = argument;

	(void)m;
	if (a != calls->actor) {
		calls->answered++;
		return;
	}
	for (unsigned i = 1; i <= calls->others; i++) {
		crew_send(h, &calls->message[i], &calls->actor[i]);
		for (unsigned turn = 0; calls->answered != i; turn++)
			relax(turn, i % 7 * 50);
	}
	crew_stop(h->crew);
}

static void run_calls(const struct crews_kind *kind, unsigned spins)
{
	struct calls calls = { .others = cases(2000) };
	struct crew_world w;

	calls.message = calloc(calls.others + 1, sizeof(*calls.message));
	assert_non_null(calls.message);
	crews_open(&w, kind,
		   &(struct crew){ .threads = 3,
				   .actors = calls.others + 1,
				   .body = call,
				   .argument = &calls,
				   .spins = spins });
	calls.actor = w.actor;
	for (unsigned i = 0; i <= calls.others; i++)
		w.actor[i].home = w.actor[i].on = 0;
	crew_seed(&w.crew, 0, &calls.message[0], &w.actor[0]);
	crews_run(&w.crew);
	assert_int_equal(calls.answered, calls.others);
	crew_world_close(&w);
	free(calls.message);
}

static void test_who_waits_for_another_actor_is_not_left_alone(void **state)
{
	(void)state;
	for (unsigned k = 0; k < crews_number(); k++)
		for (unsigned spins = 0; crews[k].any && spins <= 10; spins += 10)
			run_calls(&crews[k], spins);
}

/*
 * One thread, two actors: it handles `batch` messages of an actor in a row, or all of them if it
 * takes the newest actor first.
 */
struct row {
	struct actor *actor, *last;
	unsigned in_a_row, left;
	unsigned seen[64], n;
};

static void note_row(void *argument, struct crew_hand *h, struct actor *a, struct message *m)
{
	struct row *r = argument;

	if (a == r->last)
		r->in_a_row++;
	else if (r->last)
		r->seen[r->n++] = r->in_a_row, r->in_a_row = 1;
	else
		r->in_a_row = 1;
	r->last = a;
	if (--r->left)
		crew_send(h, m, a);
	else
		crew_stop(h->crew);
}

static void test_messages_of_an_actor_in_a_row(void **state)
{
	(void)state;
	for (unsigned k = 0; k < crews_number(); k++)
		for (unsigned batch = 1; batch <= 3; batch += 2) {
			struct message message[2] = { { 0 }, { 0 } };
			struct row r = { .left = 60 };
			struct crew_world w;

			crews_open(&w, &crews[k],
				   &(struct crew){ .threads = 1,
						   .actors = 2,
						   .body = note_row,
						   .argument = &r,
						   .batch = batch });
			r.actor = w.actor;
			for (unsigned i = 0; i < 2; i++)
				crew_seed(&w.crew, 0, &message[i], &w.actor[i]);
			crews_run(&w.crew);
			assert_int_equal(r.left, 0);
			if (crews[k].newest)
				assert_int_equal(r.n, 0);
			for (unsigned i = 0; i < r.n; i++)
				assert_int_equal(r.seen[i], batch);
			crew_world_close(&w);
		}
}

/* The first actor keeps sending to itself, and the second gets a message from outside. */
struct outside {
	struct actor *actor;
	struct message other;
	unsigned turns;
	bool handled;
};

static void keep_busy(void *argument, struct crew_hand *h, struct actor *a, struct message *m)
{
	struct outside *o = argument;

	if (a != o->actor)
		o->handled = true;
	else if (!o->turns++)
		crew_send_in(h->crew, &o->other, &o->actor[1], 0);
	if (o->handled || o->turns == 1000)
		crew_stop(h->crew);
	else
		crew_send(h, m, a);
}

static void test_what_comes_from_outside_is_not_left_until_nothing_else_is_there(void **state)
{
	(void)state;
	for (unsigned k = 0; k < crews_number(); k++) {
		struct outside o = { .turns = 0 };
		struct message message = { 0 };
		struct crew_world w;

		if (crews[k].executor->own_threads)
			continue; /* it receives no messages from outside while it runs */
		crews_open(&w, &crews[k],
			   &(struct crew){
				   .threads = 1, .actors = 2, .body = keep_busy, .argument = &o });
		o.actor = w.actor;
		crew_seed(&w.crew, 0, &message, &w.actor[0]);
		crews_run(&w.crew);
		assert_true(o.handled);
		crew_world_close(&w);
	}
}

/* The executor best, step by step: thread 0 has all actors, and thread 1 none. */
static void test_half_of_the_actors_get_another_home(void **state)
{
	enum { ALL = 5 };
	static const struct crews_kind best = { "best", &executor_best, .any = true };
	struct message message[ALL];
	struct crew_world w;
	struct crew_hand *h;

	(void)state;
	memset(message, 0, sizeof(message));
	crews_open(&w, &best, &(struct crew){ .threads = 2, .actors = ALL });
	h = crew_hand(&w.crew, 1);
	for (unsigned i = 0; i < ALL; i++) {
		w.actor[i].home = 0;
		if (i < ALL - 1)
			crew_seed(&w.crew, 0, &message[i], &w.actor[i]);
		else
			crew_send_in(&w.crew, &message[i], &w.actor[i], 0);
	}
	/* the older half moves with its inbox, and its first actor runs next */
	assert_ptr_equal(executor_best.next(h), &w.actor[0]);
	for (unsigned i = 0; i < ALL; i++)
		assert_int_equal(w.actor[i].home, i < 3);
	assert_int_equal(h->steals, 1);
	assert_int_equal(h->moves, 3);
	assert_ptr_equal(executor_best.next(h), &w.actor[1]);
	assert_ptr_equal(executor_best.next(h), &w.actor[2]);
	assert_ptr_equal(executor_best.next(h), &w.actor[3]);
	/* the last actor stays at its home, until this thread would otherwise sleep */
	assert_null(executor_best.next(h));
	h->asleep = true;
	assert_ptr_equal(executor_best.next(h), &w.actor[4]);
	assert_null(executor_best.next(h));
	assert_int_equal(h->moves, 5);
	crew_world_close(&w);
}

/* An actor that arrives together with another one wakes a sleeping thread. */
static void test_what_waits_behind_an_actor_wakes_a_thread(void **state)
{
	static const struct crews_kind best = { "best", &executor_best, .any = true };
	struct message message[2] = { { 0 }, { 0 } };
	struct crew_world w;
	struct crew_hand *h;

	(void)state;
	crews_open(&w, &best, &(struct crew){ .threads = 2, .actors = 2 });
	for (unsigned i = 0; i < 2; i++) {
		w.actor[i].home = 0;
		crew_send_in(&w.crew, &message[i], &w.actor[i], 0);
	}
	h = crew_hand(&w.crew, 1);
	h->asleep = true;
	w.crew.sleepers = 1;
	assert_ptr_equal(executor_best.next(crew_hand(&w.crew, 0)), &w.actor[0]);
	assert_false(h->asleep);
	crew_world_close(&w);
}

/* A second thread would compete with the first for the message, and for a CPU. */
static void test_a_message_from_outside_wakes_one_thread(void **state)
{
	(void)state;
	for (unsigned i = 0; i < crews_number(); i++) {
		struct message message = { 0 };
		unsigned asleep = 0;
		struct crew_world w;

		if (crews[i].executor == &executor_pool || crews[i].executor == &executor_tasks)
			continue; /* conditions and OpenMP do not tell who sleeps */
		crews_open(&w, &crews[i], &(struct crew){ .threads = 4, .actors = 1 });
		for (unsigned k = 0; k < 4; k++)
			crew_hand(&w.crew, k)->asleep = true;
		w.crew.sleepers = 4;
		w.actor[0].home = 2;
		crew_send_in(&w.crew, &message, &w.actor[0], 0);
		for (unsigned k = 0; k < 4; k++)
			asleep += crew_hand(&w.crew, k)->asleep;
		assert_int_equal(asleep, 3);
		crew_world_close(&w);
	}
}

static void test_where_an_actor_ran_before(void **state)
{
	/* threads 0 and 1 share a cache, 2 is on their node */
	static const unsigned char step[] = {
		CREW_SAME_THREAD, CREW_SAME_CACHE,  CREW_SAME_NODE,   CREW_ELSEWHERE,
		CREW_SAME_CACHE,  CREW_SAME_THREAD, CREW_SAME_NODE,   CREW_ELSEWHERE,
		CREW_SAME_NODE,	  CREW_SAME_NODE,   CREW_SAME_THREAD, CREW_ELSEWHERE,
		CREW_ELSEWHERE,	  CREW_ELSEWHERE,   CREW_ELSEWHERE,   CREW_SAME_THREAD,
	};
	struct crew_world w;
	struct crew_hand *h;

	(void)state;
	crews_open(&w, &crews[0], &(struct crew){ .threads = 4, .actors = 4, .step = step });
	h = crew_hand(&w.crew, 0);
	assert_int_equal(h->others[0], 1);
	assert_int_equal(h->others[1], 2);
	assert_int_equal(h->others[2], 3);
	assert_int_equal(h->near[CREW_SAME_CACHE], 1);
	assert_int_equal(h->near[CREW_SAME_NODE], 2);
	for (unsigned i = 0; i < 4; i++)
		crew_moved(h, &w.actor[i]);
	for (unsigned i = 0; i < CREW_STEPS; i++)
		assert_int_equal(h->step[i], 1);
	assert_int_equal(w.actor[3].on, 0);
	crew_world_close(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_an_endless_message_holds_up_only_its_own_mailbox),
		cmocka_unit_test(test_no_wake_up_is_lost),
		cmocka_unit_test(test_who_waits_for_another_actor_is_not_left_alone),
		cmocka_unit_test(test_messages_of_an_actor_in_a_row),
		cmocka_unit_test(
			test_what_comes_from_outside_is_not_left_until_nothing_else_is_there),
		cmocka_unit_test(test_half_of_the_actors_get_another_home),
		cmocka_unit_test(test_what_waits_behind_an_actor_wakes_a_thread),
		cmocka_unit_test(test_a_message_from_outside_wakes_one_thread),
		cmocka_unit_test(test_where_an_actor_ran_before),
	};

	return cmocka_run_group_tests(tests, begin_bounded, NULL);
}
