/* SPDX-License-Identifier: Apache-2.0 */
/* How samples of several workers are scored: while all are at work, and pair by pair. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "diary.h"
#include "harness/plan/plan.h"

/* ---- scored over the time in which all are at work ---- */

/* Units that each other worker has done when the first one is done. */
enum { BEFORE_THE_END = 10 };
static _Atomic unsigned waited_for;
static double expected[64];
static unsigned expectations;

/*
 * Worker 0 does its count, or 100 units, when the others have done ten each. They wait for the
 * flag, and do the rest. So the workers' speeds differ as much as possible, and all counts are
 * known.
 */
static void at_unequal_speeds(void *state, struct worker *w)
{
	const uint64_t all = w->count == UINT64_MAX ? 100 : w->count;

	note(state, w);
	if (w->index == 0) {
		while (atomic_load(&waited_for) < w->threads - 1)
			sched_yield();
		while (w->done < all)
			turn(w);
		while (w->count == UINT64_MAX && !atomic_load(w->stop))
			sched_yield();
		w->together = w->done;
		return;
	}
	while (w->done < BEFORE_THE_END)
		turn(w);
	w->together = w->done;
	atomic_fetch_add(&waited_for, 1);
	while (!atomic_load(w->stop))
		sched_yield();
	while (w->done < all)
		turn(w);
}

static void expect_nobody(void *state)
{
	reset(state);
	waited_for = 0;
}

/*
 * Expects the time from the last worker's begin to the first worker's end, divided by the mean
 * number of units done by then.
 */
static void expect_together(void *state, const struct trial *t, struct result *r)
{
	double late = 0, soon = INFINITY, units = 0;

	collect(state, t, r);
	for (unsigned i = 0; i < t->threads; i++) {
		const struct attendance *a = team_attendance(t->team, i);

		late = fmax(late, a->begin);
		soon = fmin(soon, a->end);
		units += (double)(i ? BEFORE_THE_END : team_worker(t->team, 0)->done) / t->threads;
	}
	expected[expectations++] = (soon - late) / units;
}

static void score_together(uint64_t units, uint64_t done)
{
	struct bench b;

	set_up(&b, at_unequal_speeds, 3,
	       (struct benchmark){ ROWS(roles, timed), .protocol.scored = TOGETHER });
	b.planned.needs.units = units;
	b.benchmark.ops.reset = expect_nobody;
	b.benchmark.ops.collect = expect_together;
	expectations = 0;
	go(&b);
	assert_int_equal(expectations, b.series.samples.n);
	for (size_t i = 0; i < b.series.samples.n; i++) {
		if (expected[i] > 0)
			assert_true(fabs(b.series.samples.time[i] / expected[i] - 1) < 1e-12);
		else /* on a starved machine one is done before another one has come */
			assert_true(isnan(b.series.samples.time[i]));
	}
	assert_int_equal(b.series.did, done);
	end(&b);
}

static void test_fixed_work_is_scored_until_the_first_is_done(void **state)
{
	(void)state;
	score_together(FIXED, 41);
}

static void test_a_deadline_is_scored_while_all_are_at_work(void **state)
{
	(void)state;
	score_together(0, 100);
}

/* On a busy machine the first may be done before the last one comes; such a sample has no time. */
static void at_work_together_or_not(void *state, struct worker *w)
{
	note(state, w);
	while (w->done < 10)
		turn(w);
	w->together = ((struct diary *)state)->reset % 2 ? w->done : 0;
}

static void test_samples_without_a_time_spoil_no_batch(void **state)
{
	struct bench b;
	unsigned none = 0;

	(void)state;
	set_up(&b, at_work_together_or_not, 1,
	       (struct benchmark){ ROWS(roles, to_completion), .protocol.scored = TOGETHER });
	go(&b);
	for (size_t i = 0; i < b.series.samples.n; i++)
		none += isnan(b.series.samples.time[i]);
	assert_int_equal(none, b.series.samples.n / 2);
	for (unsigned i = 0; i < b.series.samples.batches; i++)
		assert_true(b.series.samples.batch[i].estimate > 0);
	end(&b);
}

/* ---- pairs ---- */

enum { MEETINGS = 4 };

/*
 * Who sits where in an execution. Over all samples: how often two workers met, how often each of
 * them began, and the numbers of their meetings.
 */
static struct seats {
	_Atomic int of[THREADS][2];	  /* by group and role: the worker, plus one */
	_Atomic unsigned number[THREADS]; /* number of the meeting, by group */
	_Atomic unsigned calls;
	unsigned met[THREADS][THREADS], began[THREADS][THREADS], numbers[THREADS][THREADS];
	unsigned executions, single;
	struct team *team;	    /* NULL: not known yet */
	unsigned said[THREADS][2];  /* at reset(), by worker: its group and role */
	_Atomic unsigned elsewhere; /* workers that then worked at another seat */
} seats;

static void sit_down(void *state, struct worker *w)
{
	(void)state;
	atomic_fetch_add(&seats.calls, 1);
	seats.elsewhere += seats.team && (seats.said[w->index][0] != w->group ||
					  seats.said[w->index][1] != w->role);
	if (w->group >= w->threads / 2 || w->role > 1)
		return; /* its empty place shows it */
	seats.of[w->group][w->role] = (int)w->index + 1;
	seats.number[w->group] = w->meeting;
	while (w->done < w->count)
		turn(w);
}

/* After each execution, in a sample or not, all who worked must have been pairs. */
static void stand_up(void *state)
{
	unsigned seated = 0;

	(void)state;
	for (unsigned i = 0; i < THREADS; i++) {
		assert_int_equal(seats.of[i][0] != 0, seats.of[i][1] != 0);
		seated += seats.of[i][0] ? 2 : 0;
		seats.of[i][0] = seats.of[i][1] = 0;
	}
	assert_int_equal(seated, seats.calls);
	for (unsigned i = 0; seats.team && i < team_threads(seats.team); i++) {
		seats.said[i][0] = team_worker(seats.team, i)->group;
		seats.said[i][1] = team_worker(seats.team, i)->role;
	}
	seats.executions += seated > 0;
	seats.single += seated == 2;
	seats.calls = 0;
}

static void note_pairs(void *state, const struct trial *t, struct result *r)
{
	(void)state;
	(void)r;
	seats.team = t->team;
	for (unsigned i = 0; i < THREADS; i++) {
		const int one = seats.of[i][0] - 1, other = seats.of[i][1] - 1;

		if (one < 0)
			continue;
		seats.met[one < other ? one : other][one < other ? other : one]++;
		seats.began[one][other]++;
		seats.numbers[one < other ? one : other][one < other ? other : one] |=
			1u << seats.number[i];
	}
}

static void meet(unsigned threads)
{
	const unsigned batches = 2, allocations = 2, rounds = threads % 2 ? threads : threads - 1;
	struct bench b;

	memset(&seats, 0, sizeof(seats));
	set_up(&b, sit_down, threads,
	       (struct benchmark){ ROWS(roles, by_units), .protocol.scored = IN_PAIRS });
	b.benchmark.ops.reset = stand_up;
	b.benchmark.ops.collect = note_pairs;
	b.planned.needs.meetings = MEETINGS;
	b.planned.sample = 1e-5;
	b.batches = batches, b.allocations = allocations, b.samples = 0;
	go(&b);
	seats.team = NULL; /* it is gone */
	stand_up(NULL);
	assert_int_equal(seats.elsewhere, 0); /* reset() knows who will meet whom */
	assert_int_equal(b.series.per_batch, rounds * MEETINGS);
	assert_int_equal(b.series.samples.n, batches * allocations * rounds * MEETINGS);
	for (unsigned i = 0; i < threads; i++)
		for (unsigned j = i + 1; j < threads; j++) {
			assert_int_equal(seats.met[i][j], batches * allocations * MEETINGS);
			assert_int_equal(seats.began[i][j], seats.met[i][j] / 2);
			assert_int_equal(seats.began[j][i], seats.met[i][j] / 2);
			assert_int_equal(seats.numbers[i][j], (1u << MEETINGS) - 1);
		}
	if (threads > 3) /* beside others: some pairs are also measured alone, equally often */
		assert_int_equal(seats.single,
				 batches * allocations * b.series.pairs->alone * MEETINGS);
	end(&b);
}

static void test_every_pair_meets(void **state)
{
	(void)state;
	for (unsigned threads = 2; threads <= THREADS; threads++)
		meet(threads);
}

static void test_one_worker_is_no_pair(void **state)
{
	struct bench b;

	(void)state;
	set_up(&b, by_count, 1,
	       (struct benchmark){ ROWS(roles, by_units), .protocol.scored = IN_PAIRS });
	b.planned.needs.meetings = MEETINGS;
	go(&b);
	assert_null(b.series.pairs);
	end(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_fixed_work_is_scored_until_the_first_is_done),
		cmocka_unit_test(test_a_deadline_is_scored_while_all_are_at_work),
		cmocka_unit_test(test_samples_without_a_time_spoil_no_batch),
		cmocka_unit_test(test_every_pair_meets),
		cmocka_unit_test(test_one_worker_is_no_pair),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
