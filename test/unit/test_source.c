/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Messages at a given rate: waiting counts from the time when a message is due, not from when it is
 * sent.
 */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>
#include <cmocka.h>

#include "bench/actors/crew.h"
#include "bounded.h"

enum { MESSAGES = 100 };
static const double rate = 1e4, stall = 5e-3, late = 1e-3; /* messages a second; s */

/* One actor, at most one message in flight; the actor stalls once. */
struct world {
	struct crew crew;
	struct source source;
	struct actor *actor;
	unsigned handled, stop_at;
	double first, last; /* s: when the actor handled them */
};

static void handle(void *argument, struct crew_hand *h, struct actor *a, struct message *m)
{
	struct world *w = argument;

	(void)a;
	w->last = clock_now();
	if (!w->handled)
		w->first = w->last;
	while (w->handled == MESSAGES / 10 && clock_now() < w->last + stall)
		;
	source_hand_back(&w->source, m);
	if (++w->handled == w->stop_at)
		crew_stop(h->crew);
}

static struct actor *to_the_one(void *argument, const struct message *m, uint64_t i)
{
	struct world *w = argument;

	(void)m, (void)i;
	return w->actor;
}

static void *send_all(void *argument)
{
	struct world *w = argument;

	source_send(&w->source, &w->crew, MESSAGES, to_the_one, w);
	return NULL;
}

static void run(unsigned stop_at, void (*check)(const struct world *, const struct histogram *))
{
	struct world w = { .crew = { .executor = &executor_dedicated,
				     .threads = 1,
				     .actors = 1,
				     .body = handle,
				     .argument = &w,
				     .batch = 1,
				     .every = 1 },
			   .stop_at = stop_at };
	struct histogram *waiting = apart_alloc(sizeof(*waiting));
	void *memory = apart_alloc(crew_bytes(w.crew.executor, 1, 1));
	struct message message = { 0 };
	pthread_t sender;

	w.actor = apart_alloc(sizeof(*w.actor));
	assert_true(waiting && memory && w.actor);
	crew_open(&w.crew, memory, 1);
	crew_hand(&w.crew, 0)->waiting = waiting;
	source_open(&w.source, rate, clock_tick());
	source_hand_back(&w.source, &message);
	assert_int_equal(pthread_create(&sender, NULL, send_all, &w), 0);
	crew_run(&w.crew, 0);
	pthread_join(sender, NULL);
	check(&w, waiting);
	crew_close(&w.crew);
	free(w.actor);
	free(memory);
	free(waiting);
}

static void check_all(const struct world *w, const struct histogram *waiting)
{
	const double a_second = w->source.ticks * rate;

	assert_int_equal(w->handled, MESSAGES);
	assert_int_equal(histogram_total(waiting), MESSAGES);
	/* no message was early; the first may have been late, and its delay counts as waiting */
	assert_true(w->last - w->first + histogram_quantile(waiting, 1) / a_second >=
		    0.99 * (MESSAGES - 1) / rate);
	/* 40 of the 50 that were due in the stall were due `late` before its end */
	assert_true(histogram_quantile(waiting, 0.62) >= 0.98 * late * a_second);
}

static void test_who_was_due_in_a_stall_has_waited_for_its_end(void **state)
{
	(void)state;
	run(MESSAGES, check_all);
}

static void check_half(const struct world *w, const struct histogram *waiting)
{
	(void)waiting;
	assert_int_equal(w->handled, MESSAGES / 2);
}

static void test_the_sender_ends_with_the_crew(void **state)
{
	(void)state;
	run(MESSAGES / 2, check_half);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_who_was_due_in_a_stall_has_waited_for_its_end),
		cmocka_unit_test(test_the_sender_ends_with_the_crew),
	};

	return cmocka_run_group_tests(tests, begin_bounded, NULL);
}
